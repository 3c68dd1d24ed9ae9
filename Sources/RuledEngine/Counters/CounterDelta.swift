package import RuledCore
import RuledLua

extension CounterTable {
  /// A counter's name and its labels, JSON text with the members in order.
  ///
  /// It is copied and looked up several times for each amount, so it is one reference, and keeps its hash.
  package final class Key: Hashable, Sendable {
    package let name: String
    package let labels: String
    private let hash: UInt64

    /// A counter, by the bytes of both parts.
    package init(name: ByteView, labels: ByteView) {
      var name = String(decoding: name, as: UTF8.self)
      var labels = String(decoding: labels, as: UTF8.self)
      hash = Self.hash(of: &name) &* 31 &+ Self.hash(of: &labels)
      self.name = name
      self.labels = labels
    }

    /// A counter in the store, whose labels may be as an older build wrote them.
    static func stored(name: ByteView, labels: ByteView) -> Key {
      CounterLabels.normalized(labels).withView { Key(name: name, labels: $0) }
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
      var text = text
      return text.withUTF8 { ByteOrder.equal(ByteView(UnsafeRawBufferPointer($0)), bytes) }
    }

    package static func == (left: Key, right: Key) -> Bool {
      left === right || left.hash == right.hash && left.labels == right.labels && left.name == right.name
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
  }

  /// The keys of the counters that a plugin counted lately, so that counting one again makes no new text.
  struct KeyCache {
    private static let size = 64
    private var keys = [Key?](repeating: nil, count: size)

    /// The key of a counter.
    mutating func key(name: ByteView, labels: ByteView) -> Key {
      let slot = Int(truncatingIfNeeded: hash64(labels) &+ hash64(name)) & (Self.size - 1)
      if let key = keys[slot], key.has(name: name, labels: labels) { return key }
      let key = Key(name: name, labels: labels)
      keys[slot] = key
      return key
    }
  }

  /// What events add to a counter.
  package struct Delta: Sendable {
    package let key: Key
    package private(set) var amount: CounterValue
    /// How many amounts that is, for each of which room is reserved.
    private(set) var amounts = 1
    /// Whether the series is new.
    package var isFirst = false

    package init(_ key: Key, _ amount: CounterValue) {
      self.key = key
      self.amount = amount
    }

    /// Adds another delta of the same counter if both are whole numbers of one sign.
    ///
    /// Floats are added one by one, in their order, as rounding depends on it. Amounts above zero and amounts below it are reserved apart.
    fileprivate mutating func add(_ other: Delta) -> Bool {
      guard case .integer(let a) = amount, case .integer(let b) = other.amount, (a < 0) == (b < 0),
        case let (sum, overflow) = a.addingReportingOverflow(b), !overflow
      else { return false }
      amount = .integer(sum)
      amounts += other.amounts
      isFirst = isFirst || other.isFirst
      return true
    }
  }
}

extension [CounterTable.Delta] {
  /// How many earlier deltas are searched for one of the same counter.
  private static let searched = 32

  /// Adds up neighbouring deltas of the same counters, as the events of a batch mostly count the same.
  mutating func addUp() {
    guard count > 1 else { return }
    var end = 1
    for index in 1..<count {
      let delta = self[index]
      // By index: a slice would share the array, so that adding to an element would copy all of them.
      let same = (Swift.max(0, end - Self.searched)..<end).last {
        self[$0].key == delta.key && self[$0].amount.isNegative == delta.amount.isNegative
      }
      if let same, self[same].add(delta) { continue }
      if end < index { self[end] = self[index] }
      end += 1
    }
    removeSubrange(end...)
  }
}
