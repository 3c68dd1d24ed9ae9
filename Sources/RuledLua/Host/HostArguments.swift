import CLuaBridge
import RuledCore

/// The arguments that a rule passed to a host function.
struct HostArguments {
  private let values: UnsafeBufferPointer<rb_value>

  init(_ values: UnsafeBufferPointer<rb_value>) { self.values = values }

  /// The string at `index`; `what` names it in messages.
  func bytes(_ index: Int, _ what: String) throws(HostRefusal) -> ByteView {
    guard index < values.count, values[index].type == RB_STRING else { throw HostRefusal("\(what) must be a string") }
    return values[index].text.raw
  }

  /// The string at `index`, or nil when it is nil or missing; `what` names it in messages.
  func optionalBytes(_ index: Int, _ what: String) throws(HostRefusal) -> ByteView? {
    guard index < values.count, values[index].type != RB_NIL else { return nil }
    return try bytes(index, what)
  }

  /// Whether there is a string at `index` of more bytes than that.
  func isLonger(_ index: Int, than count: Int) -> Bool { index < values.count && values[index].text.length > count }

  func text(_ index: Int, _ what: String) throws(HostRefusal) -> String {
    String(decoding: try bytes(index, what), as: UTF8.self)
  }

  func number(_ index: Int, _ what: String) throws(HostRefusal) -> Double {
    guard index < values.count else { throw HostRefusal("\(what) is missing") }
    switch values[index].type {
    case RB_INTEGER: return Double(values[index].integer)
    case RB_NUMBER:
      guard values[index].number.isFinite else { throw HostRefusal("\(what) must be finite") }
      return values[index].number
    default: throw HostRefusal("\(what) must be a number")
    }
  }

  /// The count at `index`, or nil when it is nil or missing; `what` names it in messages.
  func optionalCount(_ index: Int, _ what: String) throws(HostRefusal) -> Int? {
    guard index < values.count, values[index].type != RB_NIL else { return nil }
    guard let count = Int(exactly: try number(index, what)), count >= 0 else {
      throw HostRefusal("\(what) must be a whole number from 0 on")
    }
    return count
  }
}
