internal import RuledCore
internal import RuledLua

/// What a test handed to a method of `t`.
struct TestArguments {
  private let method: String
  private let values: [JSONValue]

  /// The arguments of `t:method(…)`.
  init(_ method: String, _ values: [JSONValue]) {
    self.method = method
    self.values = values
  }

  /// The argument at a place, or nil when it is nil or left out.
  func value(_ place: Int) -> JSONValue? {
    guard place < values.count, !values[place].isNull else { return nil }
    return values[place]
  }

  /// A string.
  func text(_ place: Int, _ what: String) throws(TestFailure) -> String {
    guard let text = value(place)?.stringValue else {
      throw TestFailure("t:\(method): argument \(place + 1) must be \(what)")
    }
    return text
  }

  /// A table of named values, or nil when it is left out.
  func object(_ place: Int, _ what: String) throws(TestFailure) -> JSONObject? {
    guard let value = value(place) else { return nil }
    guard let object = value.objectValue else {
      throw TestFailure("t:\(method): argument \(place + 1) must be a table: \(what)")
    }
    return object
  }
}
