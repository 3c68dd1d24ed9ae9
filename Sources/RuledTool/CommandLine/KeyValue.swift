package import RuledCore

/// A word of the form `key=value`, whose value is JSON if it parses and a string otherwise.
package struct KeyValue: Sendable, Equatable {
  /// What stands before the first `=`.
  package var key: String
  /// What stands behind it.
  package var value: JSONValue

  /// Reads a word; nil when nothing stands before a `=`.
  package init?(_ word: String) {
    guard let equals = word.firstIndex(of: "="), equals != word.startIndex else { return nil }
    key = String(word[..<equals])
    let text = String(word[word.index(after: equals)...])
    value = JSONValue(text: text) ?? .string(text)
  }

  /// Sets each word's key in an object.
  ///
  /// - Parameters:
  ///   - words: The words.
  ///   - object: What the keys are set in.
  /// - Throws: For a word of another form, and for a key that is given twice.
  package static func set(_ words: some Sequence<String>, in object: inout JSONObject) throws(ToolError) {
    var seen: Set<String> = []
    for word in words {
      guard let pair = KeyValue(word) else { throw ToolError("'\(word)' is not of the form key=value") }
      guard seen.insert(pair.key).inserted else { throw ToolError("'\(pair.key)' is given twice; give it once") }
      object[pair.key] = pair.value
    }
  }

  /// The words as an object, or nil when there are none.
  package static func object(_ words: some Collection<String>) throws(ToolError) -> JSONValue? {
    guard !words.isEmpty else { return nil }
    var object = JSONObject()
    try set(words, in: &object)
    return .object(object)
  }
}
