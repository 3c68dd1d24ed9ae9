extension Figures {
  /// A share from 0 to 1 in per cent with two digits behind the point: `99.87 %`.
  static func percent(_ share: Double) -> String {
    let scaled = Int((share * 10_000).rounded())
    let digits = scaled % 100
    return "\(scaled / 100).\(digits < 10 ? "0" : "")\(digits) %"
  }

  /// A number without a fraction that says nothing: `10`, `0.5`.
  static func plain(_ value: Double) -> String {
    value == value.rounded() && value.magnitude < 1e15 ? "\(Int(value))" : "\(value)"
  }

  /// A count and its noun whose plural is irregular: `1 reply`, `2 replies`.
  static func count(_ value: Int, _ singular: String, _ plural: String) -> String {
    "\(count(value)) \(value == 1 ? singular : plural)"
  }
}
