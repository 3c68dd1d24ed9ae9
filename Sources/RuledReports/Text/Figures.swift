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

  /// A count and its noun, whose plural has an s unless it is given: `1 event`, `2 events`, `2 replies`.
  package static func count(_ value: Int, _ noun: String, plural: String? = nil) -> String {
    "\(count(value)) \(value == 1 ? noun : plural ?? noun + "s")"
  }

  /// A number of bytes: `512 bytes`, `1.2 MiB`.
  package static func bytes(_ value: Int) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
    guard let (size, unit) = units.first(where: { value >= $0.0 }) else { return count(value, "byte") }
    return "\(tenths(Double(value) / Double(size))) \(unit)"
  }

  /// A duration given in microseconds: `41 µs`, `1.2 ms`, `3.4 s`.
  package static func micros(_ value: Double) -> String {
    switch value {
    case ..<1000: "\(tenths(value)) µs"
    case ..<1_000_000: "\(tenths(value / 1000)) ms"
    default: "\(tenths(value / 1_000_000)) s"
    }
  }

  /// A duration given in seconds, in its two largest units: `3d 4h`, `5m 12s`.
  package static func duration(seconds: Int) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")]
    guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "0s" }
    let (size, unit) = units[first]
    let remainder = seconds % size
    guard first + 1 < units.count, remainder >= units[first + 1].0 else { return "\(seconds / size)\(unit)" }
    return "\(seconds / size)\(unit) \(remainder / units[first + 1].0)\(units[first + 1].1)"
  }

  /// A part of a whole in per cent; `0 %` of nothing.
  package static func percent(_ part: Int, of whole: Int) -> String {
    whole == 0 ? "0 %" : percent(Double(part) / Double(whole))
  }

  /// A share, of which 1 is the whole, in per cent with two decimals: `99.87 %`, or `>1e12 %`.
  package static func percent(_ share: Double) -> String {
    guard share < 1e10 else { return ">1e12 %" }
    let scaled = Int((share * 10_000).rounded())
    let decimals = scaled % 100
    return "\(scaled / 100).\(decimals < 10 ? "0" : "")\(decimals) %"
  }

  /// A number with two decimals at most, and with its thousands apart if it is whole: `12,345`, `0.25`, `1e+308`.
  package static func hundredths(_ value: Double) -> String {
    guard value.magnitude < 1e15 else { return plain(value) }
    return value == value.rounded() ? count(Int(value)) : plain((value * 100).rounded() / 100)
  }

  /// A number, without decimals when it is whole: `10`, `0.5`.
  package static func plain(_ value: Double) -> String {
    value == value.rounded() && value.magnitude < 1e15 ? "\(Int(value))" : "\(value)"
  }

  private static func tenths(_ value: Double) -> String {
    let scaled = Int((value * 10).rounded())
    return scaled % 10 == 0 || scaled >= 1000 ? "\((scaled + 5) / 10)" : "\(scaled / 10).\(scaled % 10)"
  }
}
