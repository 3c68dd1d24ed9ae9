internal import RuledCore
internal import RuledLua

/// The arguments of a call of a method of `t`.
struct TestArguments {
  let method: String
  let values: [JSONValue]

  /// The argument at `index`; nil when it is nil or left out.
  func value(_ index: Int) -> JSONValue? {
    guard index < values.count, !values[index].isNull else { return nil }
    return values[index]
  }

  /// The argument at `index`, which must be a string; `what` names it in the error.
  func text(_ index: Int, _ what: String) throws(TestFailure) -> String {
    guard let text = value(index)?.stringValue else {
      throw TestFailure("t:\(method): argument \(index + 1) must be \(what)")
    }
    return text
  }

  /// The argument at `index`, which must be a table; nil when it is nil or left out.
  func object(_ index: Int, _ what: String) throws(TestFailure) -> JSONObject? {
    guard let value = value(index) else { return nil }
    guard let object = value.objectValue else {
      throw TestFailure("t:\(method): argument \(index + 1) must be a table: \(what)")
    }
    return object
  }
}
