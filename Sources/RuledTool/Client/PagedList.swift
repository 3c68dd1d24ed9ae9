internal import RuledCore
internal import RuledReports

/// A list that a daemon answers in pages.
enum PagedList {
  /// The options of every command that shows such a list.
  static let options = [
    OptionSpec("limit", value: "N", "How many to list, 1 to \(Limits.listMaximum); \(Limits.listDefault) by default."),
    OptionSpec("after", value: "NEXT", "Continues after the last entry of an earlier list."),
    OptionSpec("all", "Lists all."),
  ]

  /// The parameters that options of the same names give.
  static func params(_ options: [String], _ arguments: Arguments) -> JSONObject {
    var params = JSONObject()
    for option in options { params[option] = arguments.value(option).map(JSONValue.string) }
    return params
  }

  /// Prints one page, or with `--all` every page, and on standard error whether there is more.
  ///
  /// - Parameters:
  ///   - method: The method that lists; its result's member of that name holds the entries.
  ///   - params: The parameters that select entries.
  ///   - arguments: The command line.
  ///   - environment: Where the daemon is, and where to print.
  ///   - text: How entries look without `--json`.
  /// - Throws: `UsageError` for an option out of range, and what the client throws.
  static func show(
    _ method: String, _ params: JSONObject, _ arguments: Arguments, _ environment: ToolEnvironment,
    as text: ([JSONValue]) -> String
  ) throws {
    let page = try read(method, params, arguments, environment.connect())
    let entries = page.elements(method)
    environment.show(page, arguments) { _ in text(entries) }
    if let next = page.member("next"), !arguments.has("json") {
      environment.errors.write(
        "\(Figures.count(entries.count)) shown, and there are more: list them with --all, or continue with --after "
          + "\(next.brief.printable)\n")
    }
  }

  static func all(_ method: String, _ params: JSONObject, _ client: Client) throws -> [JSONValue] {
    var params = params
    params["limit"] = .integer(Int64(Limits.listMaximum))
    var found: [JSONValue] = []
    while true {
      let page = try client.call(method, .object(params))
      found += page.elements(method)
      guard let next = page.member("next"), next != params["after"] else { return found }
      params["after"] = next
    }
  }

  /// The method's result; with `--all`, one with the entries of all pages and without `next`.
  private static func read(
    _ method: String, _ selection: JSONObject, _ arguments: Arguments, _ client: Client
  ) throws -> JSONValue {
    let limit = try arguments.integer("limit", in: 1...Limits.listMaximum)
    var params = selection
    params["after"] = arguments.value("after").map(JSONValue.string)
    params["limit"] = limit.map { .integer(Int64($0)) } ?? (arguments.has("all") ? .integer(1_000) : nil)
    var page = try client.call(method, .object(params))
    guard arguments.has("all") else { return page }
    var elements = page.elements(method)
    while let next = page.member("next"), next != params["after"] {
      params["after"] = next
      page = try client.call(method, .object(params))
      elements += page.elements(method)
    }
    return .object([method: .array(elements)])
  }
}
