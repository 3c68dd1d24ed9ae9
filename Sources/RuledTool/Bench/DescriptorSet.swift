internal import Glibc

/// A set of descriptors for `pselect`, which waits more finely than `poll`: for microseconds.
struct DescriptorSet {
  /// The first descriptor that no set can hold.
  static let limit = Int32(MemoryLayout<fd_set>.size * 8)

  private var bits = fd_set()

  /// Whether the descriptor is in the set.
  func contains(_ descriptor: Int32) -> Bool {
    withUnsafeBytes(of: bits) { $0[Int(descriptor) / 8] & (1 << UInt8(descriptor % 8)) != 0 }
  }

  /// Adds a descriptor below `limit`.
  mutating func insert(_ descriptor: Int32) {
    precondition(descriptor >= 0 && descriptor < Self.limit)
    withUnsafeMutableBytes(of: &bits) { $0[Int(descriptor) / 8] |= 1 << UInt8(descriptor % 8) }
  }

  /// Waits until one of these can be read or one of those be written; the sets then hold those that can.
  ///
  /// - Parameters:
  ///   - reading: Descriptors to wait for until they can be read.
  ///   - writing: Descriptors to wait for until they can be written.
  ///   - end: One above the highest descriptor.
  ///   - nanoseconds: How long at most, under a second.
  /// - Returns: Whether any can.
  static func wait(
    reading: inout DescriptorSet, writing: inout DescriptorSet, below end: Int32, nanoseconds: UInt64
  ) -> Bool {
    var time = timespec(tv_sec: 0, tv_nsec: Int(nanoseconds))
    return pselect(end, &reading.bits, &writing.bits, nil, &time, nil) > 0
  }
}
