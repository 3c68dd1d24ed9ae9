/// Durations as people write them: a positive decimal number and a unit, as in `48h` or `1.5d`.
package enum DurationText {
  /// The duration in microseconds, or nil if `text` is none, is zero where `allowsZero` is false, or exceeds 64 bits.
  ///
  /// Units are `s`, `m`, `h` and `d` (24 hours); the result is rounded to whole microseconds.
  package static func parse(_ text: String, allowsZero: Bool) -> Int64? {
    guard let last = text.utf8.last, let unit = unit(last) else { return nil }
    let parts = text.utf8.dropLast().split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, isNumber(whole), let count = Int64(String(Substring(whole))) else { return nil }
    var (total, overflow) = count.multipliedReportingOverflow(by: unit)
    if parts.count == 2 {
      guard isNumber(parts[1]), let fraction = Double("0." + String(Substring(parts[1]))) else { return nil }
      let (sum, overflowed) = total.addingReportingOverflow(Int64((fraction * Double(unit)).rounded()))
      (total, overflow) = (sum, overflow || overflowed)
    }
    return overflow || total < 0 || (total == 0 && !allowsZero) ? nil : total
  }

  /// The duration in microseconds, or nil if `text` is none, is zero or exceeds 64 bits.
  package static func parse(_ text: String) -> Int64? { parse(text, allowsZero: false) }

  private static func isNumber(_ digits: Substring.UTF8View) -> Bool {
    !digits.isEmpty && digits.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
  }

  private static func unit(_ letter: UInt8) -> Int64? {
    switch letter {
    case UInt8(ascii: "s"): Limits.second
    case UInt8(ascii: "m"): 60 * Limits.second
    case UInt8(ascii: "h"): Limits.hour
    case UInt8(ascii: "d"): 24 * Limits.hour
    default: nil
    }
  }
}
