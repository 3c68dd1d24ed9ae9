/// A connection's name for other threads: it finds the connection or nothing, never another connection.
package struct ConnectionToken: Hashable, Sendable {
  /// Slot and generation in one number.
  package let raw: UInt64

  package init(raw: UInt64) { self.raw = raw }

  init(slot: Int, generation: UInt32) { raw = UInt64(generation) << 32 | UInt64(slot) }

  var slot: Int { Int(raw & 0xFFFF_FFFF) }
  var generation: UInt32 { UInt32(raw >> 32) }
}
