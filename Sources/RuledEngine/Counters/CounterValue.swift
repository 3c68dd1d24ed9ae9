package import RuledCore
import RuledLua

/// The value of a counter: an integer until a float is added.
package enum CounterValue: Sendable, Equatable {
  case integer(Int64)
  case number(Double)

  /// The sum; nil if it is an integer of more than 64 bits, or not finite.
  func adding(_ other: CounterValue) -> CounterValue? {
    if case .integer(let a) = self, case .integer(let b) = other {
      let (sum, overflow) = a.addingReportingOverflow(b)
      return overflow ? nil : .integer(sum)
    }
    let sum = double + other.double
    return sum.isFinite ? .number(sum) : nil
  }

  /// The sum, which saturates.
  package static func + (left: CounterValue, right: CounterValue) -> CounterValue {
    if let sum = left.adding(right) { return sum }
    if case .integer = left, case .integer = right { return .integer(right.isNegative ? .min : .max) }
    return .number(right.isNegative ? -.greatestFiniteMagnitude : .greatestFiniteMagnitude)
  }

  var isNegative: Bool {
    switch self {
    case .integer(let number): number < 0
    case .number(let number): number < 0
    }
  }

  static prefix func - (value: CounterValue) -> CounterValue {
    switch value {
    case .integer(let number): .integer(number == .min ? .max : -number)
    case .number(let number): .number(-number)
    }
  }

  package var double: Double {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number): number
    }
  }

  package var json: JSONValue {
    switch self {
    case .integer(let number): .integer(number)
    case .number(let number): .number(number)
    }
  }

  init(_ amount: Operation.Amount) {
    switch amount {
    case .integer(let number): self = .integer(number)
    case .number(let number): self = .number(number)
    }
  }

  /// The value with that JSON; nil if it is not a number.
  ///
  /// Older builds stored `null` once a sum was infinite; such a counter begins at 0 again.
  init?(json: JSONValue) {
    switch json {
    case .integer(let number): self = .integer(number)
    case .number(let number): self = .number(number)
    case .null: self = .integer(0)
    default: return nil
    }
  }
}
