package import RuledCore
internal import RuledJSON

extension JSONValue {
  /// How deep a daemon's answer may nest: it wraps what was sent, so it may be deeper than a request.
  static let replyDepth = 4 * Limits.jsonDepth

  /// Parses `text`; nil when it is not JSON.
  package init?(text: String) {
    guard let value = try? JSONValue(parsing: text, maximumDepth: Self.replyDepth) else { return nil }
    self = value
  }

  /// An object of these members, in order, without those that are nil.
  package static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
    var object = JSONObject()
    for (name, value) in members {
      if let value { object[name] = value }
    }
    return .object(object)
  }

  /// The object's member; nil when this is no object, has no such member, or the member is null.
  package func member(_ name: String) -> JSONValue? {
    guard let value = self[name], !value.isNull else { return nil }
    return value
  }

  /// The object's member as a count; 0 when there is none.
  func count(_ name: String) -> Int { Int(member(name)?.intValue ?? 0) }

  /// The elements of the object's member; none when there is no such array.
  func elements(_ name: String) -> [JSONValue] { member(name)?.arrayValue ?? [] }

  /// A string as it is, anything else as JSON on one line.
  package var brief: String { stringValue ?? text }
}

/// A list that a daemon answers in pages.
package enum PagedList {
  /// The options of every command that shows such a list.
  package static let options = [
    OptionSpec("limit", value: "N", "How many to list, 1 to \(Limits.listMaximum); \(Limits.listDefault) by default."),
    OptionSpec("after", value: "NEXT", "Continues after the last entry of an earlier list."),
    OptionSpec("all", "Lists all."),
  ]

  /// Reads one page, or with `--all` every page.
  ///
  /// - Parameters:
  ///   - method: The method that lists.
  ///   - member: The member of its result that holds the list.
  ///   - params: The parameters other than `after` and `limit`.
  ///   - arguments: The command line.
  ///   - client: The connection.
  /// - Returns: The method's result; with `--all`, one with all pages' entries and without `next`.
  /// - Throws: `UsageError` for an option out of range, and what `client` throws.
  package static func read(
    _ method: String, _ member: String, _ params: JSONObject, _ arguments: Arguments, _ client: Client
  ) throws -> JSONValue {
    let limit = try arguments.integer("limit", in: 1...Limits.listMaximum)
    var params = params
    params["after"] = arguments.value("after").map(JSONValue.string)
    params["limit"] = limit.map { .integer(Int64($0)) } ?? (arguments.has("all") ? .integer(1_000) : nil)
    var page = try client.call(method, .object(params))
    guard arguments.has("all") else { return page }
    var elements = page.elements(member)
    while let next = page.member("next"), next != params["after"] {
      params["after"] = next
      page = try client.call(method, .object(params))
      elements += page.elements(member)
    }
    return .object([member: .array(elements)])
  }

  /// Writes on standard error that there are more entries.
  package static func writeHint(after page: JSONValue, shown: Int, _ environment: ToolEnvironment) {
    guard let next = page.member("next") else { return }
    environment.errors.write(
      "\(Figures.count(shown)) shown, and there are more: list them with --all, or continue with --after "
        + "\(next.brief.printable)\n")
  }
}
