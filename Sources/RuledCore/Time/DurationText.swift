/// Durations as people write them: decimal numbers with units, the largest unit first, as in `48h`, `1.5d` or `1h30m`.
package enum DurationText {
  /// The duration in microseconds, or nil if `text` is none, is zero where `allowsZero` is false, or exceeds 64 bits.
  ///
  /// Units are `s`, `m`, `h`, `d` (24 hours) and `w`; only the last number may have a fraction. The result is rounded to whole microseconds.
  package static func parse(_ text: String, allowsZero: Bool) -> Int64? {
    text.withView { parse($0, allowsZero: allowsZero) }
  }

  private static func parse(_ text: ByteView, allowsZero: Bool) -> Int64? {
    var rest = text
    var total: Int64 = 0
    var largest = Int64.max
    while let end = rest.firstIndex(where: { unit($0) != nil }), let unit = unit(rest[end]), unit < largest {
      let isLast = end == rest.count - 1
      guard let part = microseconds(rest.extracting(..<end), unit, allowsFraction: isLast) else { return nil }
      let (sum, overflow) = total.addingReportingOverflow(part)
      guard !overflow else { return nil }
      (total, largest, rest) = (sum, unit, rest.extracting(droppingFirst: end + 1))
    }
    return rest.isEmpty && largest != .max && (total > 0 || allowsZero) ? total : nil
  }

  /// The duration in microseconds, or nil if `text` is none, is zero or exceeds 64 bits.
  package static func parse(_ text: String) -> Int64? { parse(text, allowsZero: false) }

  /// The duration in microseconds, or nil if a number in it has a fraction.
  package static func parseWhole(_ text: ByteView) -> Int64? {
    text.contains(UInt8(ascii: ".")) ? nil : parse(text, allowsZero: false)
  }

  private static func microseconds(_ number: ByteView, _ unit: Int64, allowsFraction: Bool) -> Int64? {
    let point = number.firstIndex(of: UInt8(ascii: ".")) ?? number.count
    let whole = number.extracting(..<point), fraction = number.extracting(droppingFirst: point + 1)
    guard isNumber(whole), let count = Int64(whole.text) else { return nil }
    let (total, overflow) = count.multipliedReportingOverflow(by: unit)
    guard point < number.count else { return overflow ? nil : total }
    guard allowsFraction, isNumber(fraction), let part = Double("0." + fraction.text) else { return nil }
    let (sum, overflowed) = total.addingReportingOverflow(Int64((part * Double(unit)).rounded()))
    return overflow || overflowed ? nil : sum
  }

  private static func isNumber(_ digits: ByteView) -> Bool { !digits.isEmpty && digits.allSatisfy(\.isDigit) }

  private static func unit(_ letter: UInt8) -> Int64? {
    switch letter {
    case UInt8(ascii: "s"): Limits.second
    case UInt8(ascii: "m"): 60 * Limits.second
    case UInt8(ascii: "h"): Limits.hour
    case UInt8(ascii: "d"): 24 * Limits.hour
    case UInt8(ascii: "w"): 7 * 24 * Limits.hour
    default: nil
    }
  }
}
