package import RuledCore

/// The changes that a batch makes, in their order, in one run of bytes.
///
/// Noting one allocates nothing once there is room. After the commit nothing in it changes any more, so that any thread may read it.
package final class ChangeLog: @unchecked Sendable {  // the evaluator's until its batch is taken, read-only from then on
  /// Where a change stands among the bytes.
  private struct Entry {
    let subject: Range<Int>
    let version: UInt64
    let plugins: Range<Int>
    let end: Int
  }

  /// The bytes of all changes.
  package let bytes = ByteBuffer(capacity: 512)
  private var entries: [Entry] = []

  /// A log without changes.
  package init() {}

  /// How many changes there are.
  package var count: Int { entries.count }
  /// Whether there is none.
  package var isEmpty: Bool { entries.isEmpty }

  /// Adds a change whose subject stands in `bytes` already, and behind it its JSON members up to the present end.
  package func append(subject: Range<Int>, version: UInt64, plugins: Range<Int>) {
    entries.append(Entry(subject: subject, version: version, plugins: plugins, end: bytes.count))
  }

  /// Adds that all of a subject was erased.
  package func append(forgotten name: UnsafeRawBufferPointer) {
    let start = bytes.count
    bytes.append(name)
    let subject = start..<bytes.count
    bytes.append("\"subject\":" as StaticString)
    bytes.append(jsonString: name)
    bytes.append(",\"version\":0,\"event\":{\"id\":\"\",\"type\":\"ruled.forgotten\"},\"plugins\":[" as StaticString)
    let plugins = bytes.count..<bytes.count
    bytes.append("],\"decisions\":{},\"effects\":[]" as StaticString)
    append(subject: subject, version: 0, plugins: plugins)
  }

  /// Forgets the changes behind the first `count`.
  package func truncate(to count: Int) {
    entries.removeSubrange(count...)
    bytes.truncate(to: entries.last?.end ?? 0)
  }

  /// Forgets all changes and keeps the room.
  func removeAll() {
    entries.removeAll(keepingCapacity: true)
    bytes.removeAll()
  }

  /// The change at that place; it points into the log.
  package subscript(place: Int) -> View {
    let entry = entries[place]
    return View(
      subject: slice(entry.subject), plugins: slice(entry.plugins), members: slice(entry.subject.upperBound..<entry.end)
    )
  }

  /// Copies of all changes.
  package var all: [Change] {
    entries.indices.map { place in
      let view = self[place]
      let names = view.plugins.split(separator: UInt8(ascii: ",")).map {
        String(decoding: $0.dropFirst().dropLast(), as: UTF8.self)
      }
      return Change(
        subject: Array(view.subject), version: entries[place].version, plugins: names, members: Array(view.members))
    }
  }

  private func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes.bytes[range])
  }

  /// A change as it stands in the log.
  package struct View {
    /// The subject that changed.
    package let subject: UnsafeRawBufferPointer
    /// The plugins that took part, each in quotes, with commas between.
    package let plugins: UnsafeRawBufferPointer
    /// `"subject":…,"version":…,"event":{…},"plugins":[…],"decisions":{…},"effects":[…]` as JSON members.
    package let members: UnsafeRawBufferPointer
  }
}
