import RuledCore

final class Board: @unchecked Sendable {  // its table's lock guards the mutable fields
  struct Options: Equatable, Sendable {
    var leastFirst = false
    /// The time from the last change to the board's removal, in microseconds; nil for never.
    var keep: Int64?
  }

  /// The options, the time and the generation of a board after a change.
  struct Terms: Equatable, Sendable {
    var options = Options()
    /// When a place changed last, in microseconds.
    var changed: Int64 = 0
    /// Part of the keys of the places: places of an earlier generation are not on the board any more.
    var generation: UInt64 = 0

    /// Whether the board's time is over, so that nobody is on it.
    func isOver(at now: Int64) -> Bool { options.keep.map { now - changed >= $0 } ?? false }

    /// Begins anew, without options.
    mutating func renew(at now: Int64) { self = Self(generation: max(UInt64(max(now, 0)), generation + 1)) }

    /// Whether both have the same value under the board's key.
    func isStored(as other: Terms) -> Bool {
      options == other.options && generation == other.generation && (options.keep == nil || changed == other.changed)
    }
  }

  let plugin: String
  let name: String
  /// The terms after the last change that was evaluated.
  var newest: Terms
  /// The terms after the last durable change.
  var durable: Terms
  /// How many changes are evaluated and not yet durable.
  var pending = 0
  /// The durable places.
  var places = RankedPlaces()

  init(_ name: String, of plugin: String, _ terms: Terms = Terms()) {
    self.name = name
    self.plugin = plugin
    newest = terms
    durable = terms
  }
}

/// A change of a place or of a board's options, in the batch whose writes hold it.
package struct BoardChange: Sendable {
  let board: Board
  /// The board's terms after it.
  let terms: Board.Terms
  /// The index of the place's write in the batch's writes; nil if only options change.
  let write: Int?
}

extension Board.Terms {
  private static let bytes = 25

  /// The terms with that value in the store; nil if it has another form.
  init?(_ value: ByteView) {
    guard value.count == Self.bytes else { return nil }
    let keep = Int64(bigEndian: value.load(at: 1, as: Int64.self))
    options = Board.Options(leastFirst: value[0] == 1, keep: keep > 0 ? keep : nil)
    changed = Int64(bigEndian: value.load(at: 9, as: Int64.self))
    generation = UInt64(bigEndian: value.load(at: 17, as: UInt64.self))
  }

  func write(to buffer: ByteBuffer) {
    buffer.append(options.leastFirst ? 1 : 0)
    buffer.append(bigEndian: UInt64(bitPattern: options.keep ?? 0))
    buffer.append(bigEndian: UInt64(bitPattern: changed))
    buffer.append(bigEndian: generation)
  }
}
