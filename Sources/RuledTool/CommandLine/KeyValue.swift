import RuledCore
internal import RuledJSON

/// A word of the form `key=value`.
///
/// The value is JSON if it parses, and a string otherwise.
struct KeyValue: Sendable, Equatable {
  var key: String
  var value: JSONValue

  /// Parses a word; nil when it has no `=` or begins with one.
  init?(_ word: String) {
    let scalars = word.unicodeScalars  // a letter that begins with a combining mark is one Character with the `=`
    guard let equals = scalars.firstIndex(of: "="), equals != scalars.startIndex else { return nil }
    key = String(scalars[..<equals])
    let text = String(scalars[scalars.index(after: equals)...])
    value = JSONValue(text: text) ?? .string(text)
  }

  /// The words as an object; nil when there are none.
  ///
  /// - Throws: For a word of another form, and for a key that is given twice.
  static func object(_ words: ArraySlice<String>) throws(UsageError) -> JSONValue? {
    guard !words.isEmpty else { return nil }
    return .object(try merge(words, into: JSONObject()))
  }

  /// The JSON value of an option, with the words, each `key=value`, as members of it; nil when neither is given.
  ///
  /// - Throws: When the option is not JSON, when there are words and it is no object, and as for `object`.
  static func value(
    of option: String, in arguments: Arguments, with words: ArraySlice<String> = []
  ) throws(UsageError) -> JSONValue? {
    guard let text = arguments.value(option) else { return try object(words) }
    let value: JSONValue
    do throws(JSONError) { value = try JSONValue(parsing: text) } catch {
      throw UsageError("--\(option) is not JSON: \(error)")
    }
    guard !words.isEmpty else { return value }
    guard case .object(let object) = value else {
      throw UsageError("key=value needs --\(option) to be an object; give one of both")
    }
    return .object(try merge(words, into: object))
  }

  private static func merge(_ words: ArraySlice<String>, into object: JSONObject) throws(UsageError) -> JSONObject {
    var object = object
    var seen: Set<ExactName> = []
    for word in words {
      guard let pair = KeyValue(word) else { throw UsageError("'\(word)' is not of the form key=value") }
      guard seen.insert(ExactName(text: pair.key)).inserted else {
        throw UsageError("'\(pair.key)' is given twice; give it once")
      }
      object[pair.key] = pair.value
    }
    return object
  }
}
