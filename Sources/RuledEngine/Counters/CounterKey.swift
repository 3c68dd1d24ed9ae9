import RuledCore
import RuledLua

/// A counter's name and its labels, JSON text with the members in order.
///
/// It is copied and looked up several times for each amount, so it is one reference, and keeps its hash.
package final class CounterKey: Hashable, Sendable {
  package let name: String
  package let labels: String
  private let hash: UInt64

  init(name: ByteView, labels: ByteView) {
    var name = name.text
    var labels = labels.text
    hash = Self.hash(of: &name) &* 31 &+ Self.hash(of: &labels)
    self.name = name
    self.labels = labels
  }

  private static let otherLabels = "{\"other\":\"true\"}"

  /// The counter of that name for amounts of a plugin without room for further labels.
  static func other(of name: String) -> CounterKey {
    name.withView { name in otherLabels.withView { CounterKey(name: name, labels: $0) } }
  }

  /// Whether it is such a counter, for which there is always room.
  var isOther: Bool { labels == Self.otherLabels }

  /// A counter in the store, whose labels may be as an older build wrote them.
  static func stored(name: ByteView, labels: ByteView) -> CounterKey {
    CounterLabels.normalized(labels).withView { CounterKey(name: name, labels: $0) }
  }

  /// The hash of a text's bytes, which differ from those that it was decoded from if they were not UTF-8.
  private static func hash(of text: inout String) -> UInt64 {
    text.withUTF8 { hash64(ByteView(UnsafeRawBufferPointer($0))) }
  }

  /// Whether the key was made of these bytes; never if they are not UTF-8.
  fileprivate func has(name: ByteView, labels: ByteView) -> Bool {
    Self.equal(self.labels, labels) && Self.equal(self.name, name)
  }

  private static func equal(_ text: String, _ bytes: ByteView) -> Bool {
    text.withView { ByteOrder.equal($0, bytes) }
  }

  package static func == (left: CounterKey, right: CounterKey) -> Bool {
    left === right || left.hash == right.hash && left.labels == right.labels && left.name == right.name
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// The keys of the counters that a plugin counted lately, so that counting one again makes no new text.
struct CounterKeyCache {
  private static let size = 64
  private var keys = [CounterKey?](repeating: nil, count: size)

  mutating func key(name: ByteView, labels: ByteView) -> CounterKey {
    let slot = Int(truncatingIfNeeded: hash64(labels) &+ hash64(name)) & (Self.size - 1)
    if let key = keys[slot], key.has(name: name, labels: labels) { return key }
    let key = CounterKey(name: name, labels: labels)
    keys[slot] = key
    return key
  }
}
