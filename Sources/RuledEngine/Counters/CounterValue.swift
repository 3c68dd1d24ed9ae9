package import RuledCore
import RuledLua

/// The value of a counter: an integer until a float is added.
package enum CounterValue: Sendable, Equatable {
  /// A whole number.
  case integer(Int64)
  /// A float.
  case number(Double)

  /// The sum, which saturates.
  package static func + (left: CounterValue, right: CounterValue) -> CounterValue {
    if case .integer(let a) = left, case .integer(let b) = right {
      let (sum, overflow) = a.addingReportingOverflow(b)
      return .integer(overflow ? (b > 0 ? .max : .min) : sum)
    }
    return .number(left.double + right.double)
  }

  /// The amount that undoes an addition.
  package static prefix func - (value: CounterValue) -> CounterValue {
    switch value {
    case .integer(let number): .integer(number == .min ? .max : -number)
    case .number(let number): .number(-number)
    }
  }

  /// The value as a float.
  package var double: Double {
    switch self {
    case .integer(let number): Double(number)
    case .number(let number): number
    }
  }

  /// The value as JSON.
  package var json: JSONValue {
    switch self {
    case .integer(let number): .integer(number)
    case .number(let number): .number(number)
    }
  }

  /// What an operation adds.
  init(_ amount: Operation.Amount) {
    switch amount {
    case .integer(let number): self = .integer(number)
    case .number(let number): self = .number(number)
    }
  }

  /// The value with that JSON; nil if it is not a number.
  package init?(json: JSONValue) {
    switch json {
    case .integer(let number): self = .integer(number)
    case .number(let number): self = .number(number)
    default: return nil
    }
  }
}
