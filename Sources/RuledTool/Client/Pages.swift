package import RuledCore

/// Reads lists that a daemon gives in pages.
package enum Pages {
  /// The options that every paged list takes.
  package static let options = [
    OptionSpec("limit", value: "N", "How many to list, 1 to \(Limits.listMaximum); \(Limits.listDefault) by default."),
    OptionSpec("after", value: "NEXT", "Goes on behind what an earlier listing ended with."),
    OptionSpec("all", "Lists all there are."),
  ]

  /// The list that `arguments` ask for.
  ///
  /// - Parameters:
  ///   - method: The method that lists.
  ///   - member: The member of its result that holds the list.
  ///   - params: The parameters beside `after` and `limit`.
  ///   - arguments: What the person gave.
  ///   - client: The connection.
  /// - Returns: The result; with `--all`, of all pages together and without `next`.
  /// - Throws: What the client throws, and for options out of range.
  package static func read(
    _ method: String, _ member: String, _ params: JSONObject, _ arguments: Arguments, _ client: Client
  ) throws -> JSONValue {
    let limit = try arguments.integer("limit", in: 1...Limits.listMaximum)
    var params = params
    params["after"] = arguments.value("after").map(JSONValue.string)
    params["limit"] = limit.map { .integer(Int64($0)) } ?? (arguments.has("all") ? .integer(1_000) : nil)
    var page = try client.call(method, .object(params))
    guard arguments.has("all") else { return page }
    var elements = page.member(member)?.arrayValue ?? []
    while let next = page.member("next"), next != params["after"] {
      params["after"] = next
      page = try client.call(method, .object(params))
      elements += page.member(member)?.arrayValue ?? []
    }
    return .object([member: .array(elements)])
  }

  /// Says on standard error that a list goes on.
  package static func hint(_ page: JSONValue, shown: Int, _ environment: ToolEnvironment) {
    guard let next = page.member("next") else { return }
    environment.errors.write(
      "\(Figures.count(shown)) shown, and there are more: list them with --all, or go on with --after \(next.brief.printable)\n"
    )
  }
}
