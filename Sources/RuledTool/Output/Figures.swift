/// Writes numbers for people.
package enum Figures {
  /// A count with its thousands apart: `12,345`.
  package static func count(_ value: Int) -> String {
    let digits = String(value.magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return value < 0 ? "-\(text)" : text
  }

  /// A count and its noun: `1 event`, `2 events`.
  package static func count(_ value: Int, _ noun: String) -> String {
    "\(count(value)) \(noun)\(value == 1 ? "" : "s")"
  }

  /// A time given in microseconds: `41 µs`, `1.2 ms`, `3.4 s`.
  package static func micros(_ value: Double) -> String {
    switch value {
    case ..<1000: "\(tenths(value)) µs"
    case ..<1_000_000: "\(tenths(value / 1000)) ms"
    default: "\(tenths(value / 1_000_000)) s"
    }
  }

  /// A time given in seconds: `3d 4h`, `5m 12s`.
  package static func duration(seconds: Int) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")]
    guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "0s" }
    let (size, unit) = units[first]
    let rest = seconds % size
    guard first + 1 < units.count, rest >= units[first + 1].0 else { return "\(seconds / size)\(unit)" }
    return "\(seconds / size)\(unit) \(rest / units[first + 1].0)\(units[first + 1].1)"
  }

  private static func tenths(_ value: Double) -> String {
    let scaled = Int((value * 10).rounded())
    return scaled % 10 == 0 || scaled >= 1000 ? "\((scaled + 5) / 10)" : "\(scaled / 10).\(scaled % 10)"
  }
}
