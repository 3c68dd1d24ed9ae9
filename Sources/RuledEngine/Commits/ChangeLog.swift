package import RuledCore
package import RuledStore
import Synchronization

/// The changes that a batch makes, in their order, in one run of bytes.
///
/// Adding one allocates nothing once there is room. Once its batch is taken nothing in it changes any more, so that any thread may read it.
package final class ChangeLog: @unchecked Sendable {  // read-only once its batch is taken
  /// Where a change is in the bytes.
  private struct Entry {
    let subject: Range<Int>
    let version: UInt64
    let plugins: Range<Int>
    let end: Int
  }

  package let bytes = ByteBuffer(capacity: 512)
  private var entries: [Entry] = []
  /// The indices of the changes that say that their subjects are forgotten.
  package private(set) var forgotten: [Int] = []

  package init() {}

  package var count: Int { entries.count }
  package var isEmpty: Bool { entries.isEmpty }

  /// Adds a change; `bytes` already has its subject, followed by its JSON members.
  package func append(subject: Range<Int>, version: UInt64, plugins: Range<Int>) {
    entries.append(Entry(subject: subject, version: version, plugins: plugins, end: bytes.count))
  }

  /// Adds an event's change, with its members in literals as in `OutcomeWriter`; returns the range of the plugins' names.
  ///
  /// `appendPlugins` appends the plugins that took part, each in quotes, with commas between.
  @discardableResult
  package func append(
    _ outcome: RememberedOutcome, of name: ByteView, id: ByteView, type: ByteView, _ appendPlugins: (ByteBuffer) -> Void
  ) -> Range<Int> {
    let start = bytes.count
    bytes.append(name)
    let subject = start..<bytes.count
    bytes.append("\"subject\":" as StaticString)
    bytes.append(jsonString: name)
    bytes.append(",\"version\":" as StaticString)
    bytes.append(decimal: Int64(truncatingIfNeeded: outcome.version))
    bytes.append(",\"event\":{\"id\":" as StaticString)
    bytes.append(jsonString: id)
    bytes.append(",\"type\":" as StaticString)
    bytes.append(jsonString: type)
    bytes.append("},\"plugins\":[" as StaticString)
    let names = bytes.count
    appendPlugins(bytes)
    let plugins = names..<bytes.count
    bytes.append("],\"decisions\":{" as StaticString)
    bytes.append(outcome.decisions)
    bytes.append("},\"effects\":[" as StaticString)
    bytes.append(outcome.effects)
    bytes.append("]" as StaticString)
    if outcome.failures.count > 0 {
      bytes.append(",\"failures\":[" as StaticString)
      bytes.append(outcome.failures)
      bytes.append("]" as StaticString)
    }
    append(subject: subject, version: outcome.version, plugins: plugins)
    return plugins
  }

  package func append(forgotten name: ByteView) {
    let nothing = RememberedOutcome(version: 0, revision: .empty, decisions: .empty, effects: .empty, failures: .empty)
    forgotten.append(entries.count)
    append(nothing, of: name, id: .empty, type: ByteView("ruled.forgotten")) { _ in }
  }

  /// Adds a sequence without a change: watchers get nothing of it.
  package func appendUnseen() {
    let none = bytes.count..<bytes.count
    append(subject: none, version: 0, plugins: none)
  }

  func truncate(to count: Int) {
    entries.removeSubrange(count...)
    forgotten.removeAll { $0 >= count }
    bytes.truncate(to: entries.last?.end ?? 0)
  }

  /// Removes all changes and keeps the memory.
  func removeAll() {
    entries.removeAll(keepingCapacity: true)
    forgotten.removeAll()
    bytes.removeAll()
  }

  /// The change at that index; it points into the log.
  package subscript(index: Int) -> View {
    let entry = entries[index]
    return View(
      subject: slice(entry.subject), plugins: slice(entry.plugins), members: slice(entry.subject.upperBound..<entry.end)
    )
  }

  var all: [Change] {
    entries.indices.map { index in
      let view = self[index]
      let names = view.plugins.split(separator: UInt8(ascii: ",")).map {
        String(decoding: $0.dropFirst().dropLast(), as: UTF8.self)
      }
      return Change(
        subject: Array(view.subject), version: entries[index].version, plugins: names, members: Array(view.members))
    }
  }

  private func slice(_ range: Range<Int>) -> ByteView {
    bytes.bytes.extracting(range)
  }

  /// A change within the log's bytes.
  package struct View {
    package let subject: ByteView
    /// The plugins that took part, each in quotes, with commas between.
    package let plugins: ByteView
    /// `"subject":…,"version":…,"event":{…},"plugins":[…],"decisions":{…},"effects":[…]` as JSON members.
    package let members: ByteView
  }
}

/// A copy of one change.
package struct Change: Sendable {
  let subject: [UInt8]
  /// Its version after the change.
  let version: UInt64
  let plugins: [String]
  package let members: [UInt8]
}

/// Logs without readers, to be reused: the kernel clears the pages of newly allocated large ones each time.
package final class ChangeLogPool: Sendable {
  /// How many it holds at most.
  private static let most = 16
  /// How many bytes a log may have to be reused.
  private static let mostBytes = 1 << 20

  private let spare = Mutex<[ChangeLog]>([])

  package init() {}

  /// A log without changes.
  func take() -> ChangeLog { spare.withLock { $0.popLast() } ?? ChangeLog() }

  /// Keeps a log for reuse, unless others refer to it too.
  package func giveBack(_ log: consuming ChangeLog) {
    guard isKnownUniquelyReferenced(&log), log.bytes.capacity <= Self.mostBytes else { return }
    log.removeAll()
    spare.withLock { [log] spare in
      if spare.count < Self.most { spare.append(log) }
    }
  }
}
