/// Sorts by numbers, byte by byte from the lowest: several times faster than by comparing, when there are many.
enum RadixSort {
  /// Sorts `elements` by the lowest `bytes` bytes of their `number`; equal ones keep their order.
  @inline(__always)
  static func sort<Element: BitwiseCopyable>(_ elements: inout [Element], bytes: Int, by number: (Element) -> UInt64) {
    guard elements.count > 1 else { return }
    var varying: UInt64 = 0
    let sample = number(elements[0])
    for element in elements { varying |= number(element) ^ sample }
    var other = elements
    var counts = [Int](repeating: 0, count: 256)
    for byte in 0..<bytes where (varying >> UInt64(8 * byte)) & 0xFF != 0 {
      let shift = UInt64(8 * byte)
      elements.withUnsafeBufferPointer { from in
        other.withUnsafeMutableBufferPointer { to in
          counts.withUnsafeMutableBufferPointer { counts in
            counts.update(repeating: 0)
            for element in from { counts[Int(truncatingIfNeeded: (number(element) >> shift) & 0xFF)] += 1 }
            var sum = 0
            for digit in 0..<256 {
              let count = counts[digit]
              counts[digit] = sum
              sum += count
            }
            for element in from {
              let digit = Int(truncatingIfNeeded: (number(element) >> shift) & 0xFF)
              to[counts[digit]] = element
              counts[digit] += 1
            }
          }
        }
      }
      swap(&elements, &other)
    }
  }
}
