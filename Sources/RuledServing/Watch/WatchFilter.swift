import RuledCore
import RuledEngine
import RuledWire

struct WatchFilter: Sendable {
  /// The bytes of a filter beside its texts, and those of each plugin, entries of the index included.
  private static let overhead = 128

  /// A watch's place in the index: by the subject, or by the beginning of it, and by a plugin if the filter names some.
  struct Key: Hashable, Sendable {
    /// Whether the name is all of the subject.
    let isWhole: Bool
    /// The hash of the subject, or of its beginning.
    let name: UInt64
    /// The hash of the plugin's quoted name; nil for changes by any plugin.
    let plugin: UInt64?
  }

  private let subject: [UInt8]?
  private let prefix: [UInt8]
  /// The hashes of the plugins' names in quotes, as changes have them.
  private let plugins: Set<UInt64>?
  /// The bytes of memory that it takes.
  let bytes: Int

  init(_ params: WatchParams) {
    subject = params.subject.map { Array($0.utf8) }
    prefix = Array(params.prefix.utf8)
    // A set of a sequence would have room for all of its names, and not only for the distinct ones.
    plugins = params.plugins.map { names in
      names.reduce(into: []) { hashes, name in hashes.insert("\"\(name)\"".withView { hash64($0) }) }
    }
    bytes = Self.overhead * (1 + (plugins?.count ?? 0)) + (subject?.count ?? 0) + prefix.count
  }

  /// The length of the beginning that the subjects of wanted changes have; nil if there is only one subject.
  var prefixLength: Int? { subject == nil ? prefix.count : nil }

  /// The keys of the watch in the index; none if no change can be wanted.
  var keys: [Key] {
    guard prefix.count <= Limits.subjectBytes else { return [] }
    let name = (subject ?? prefix).withView { hash64($0) }
    guard let plugins else { return [Key(isWhole: subject != nil, name: name, plugin: nil)] }
    return plugins.map { Key(isWhole: subject != nil, name: name, plugin: $0) }
  }

  func wants(_ change: ChangeLog.View) -> Bool {
    guard !change.members.isEmpty, wants(subject: change.subject) else { return false }
    guard let plugins else { return true }
    return change.pluginHashes.contains { plugins.contains($0) }
  }

  func wants(subject name: ByteView) -> Bool {
    if let subject, !name.elementsEqual(subject) { return false }
    return name.starts(with: prefix)
  }
}

extension ChangeLog.View {
  /// The hashes of the plugins' names in quotes.
  fileprivate var pluginHashes: [UInt64] {
    plugins.split(separator: UInt8(ascii: ",")).map { hash64(plugins.extracting($0.startIndex..<$0.endIndex)) }
  }
}

/// The watches of a thread by their filters, so that a change finds its watches without a look at the others.
struct WatchIndex {
  private var watches: [WatchFilter.Key: [Int64: Watch]] = [:]
  /// The number of watches on subjects with a beginning of each length; length 0 stands for any subject.
  private var prefixLengths = [Int](repeating: 0, count: Limits.subjectBytes + 1)

  mutating func insert(_ watch: Watch) {
    let keys = watch.filter.keys
    for key in keys { watches[key, default: [:]][watch.number] = watch }
    if let length = watch.filter.prefixLength, !keys.isEmpty { prefixLengths[length] += 1 }
  }

  mutating func remove(_ watch: Watch) {
    let keys = watch.filter.keys
    for key in keys {
      watches[key]?[watch.number] = nil
      if watches[key]?.isEmpty == true { watches[key] = nil }
    }
    if let length = watch.filter.prefixLength, !keys.isEmpty { prefixLengths[length] -= 1 }
  }

  /// Calls `body` with the watches that want a change; more than once with one that names several of its plugins.
  func forEach(wanting change: ChangeLog.View, _ body: (Watch) -> Void) {
    guard !change.members.isEmpty else { return }
    let plugins = [nil] + change.pluginHashes.map(Optional.some)
    func visit(_ name: ByteView, isWhole: Bool) {
      let hash = hash64(name)
      for plugin in plugins {
        guard let found = watches[WatchFilter.Key(isWhole: isWhole, name: hash, plugin: plugin)] else { continue }
        for watch in found.values where watch.filter.wants(subject: change.subject) { body(watch) }
      }
    }
    visit(change.subject, isWhole: true)
    for length in 0...min(change.subject.count, Limits.subjectBytes) where prefixLengths[length] > 0 {
      visit(change.subject.extracting(first: length), isWhole: false)
    }
  }
}
