internal import RuledCore
internal import RuledReports

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

  /// How many entries the options ask for; nil for all.
  static func limit(_ arguments: Arguments) throws(UsageError) -> Int? {
    arguments.has("all") ? nil : try arguments.integer("limit", in: 1...Limits.listMaximum) ?? Limits.listDefault
  }

  /// Prints one page, or with `--all` every page, and on standard error whether there is more.
  ///
  /// `method` lists, and its result's member of that name holds the entries; without `--json` they are printed as `text`.
  static func show(
    _ method: String, _ params: JSONObject, _ arguments: Arguments, _ environment: ToolEnvironment,
    as text: ([JSONValue]) -> String
  ) throws -> ExitCode {
    var selection = params
    selection["after"] = arguments.value("after").map(JSONValue.string)
    selection["limit"] = try arguments.integer("limit", in: 1...Limits.listMaximum).map { .integer(Int64($0)) }
    let client = try environment.connect()
    let page =
      arguments.has("all")
      ? .object([method: .array(try all(method, selection, client))]) : try client.call(method, .object(selection))
    let entries = page.elements(method)
    environment.show(page, arguments) { _ in text(entries) }
    if let next = page.member("next"), !arguments.has("json") { tellMore(entries.count, next, environment) }
    return .done
  }

  static func tellMore(_ shown: Int, _ next: JSONValue, _ environment: ToolEnvironment) {
    environment.errors.write(
      "\(Figures.count(shown)) shown, and there are more: list them with --all, or continue with --after "
        + "\(next.brief.printable)\n")
  }

  /// The entries of all pages, which are the member `name` of each; that of the method's name by default.
  static func all(
    _ method: String, _ params: JSONObject, _ client: Client, _ name: String? = nil
  ) throws -> [JSONValue] {
    var found: [JSONValue] = []
    try forEachPage(method, params, client) { page in
      found += page.elements(name ?? method)
      return true
    }
    return found
  }

  /// Calls `body` with each page, until it returns false.
  static func forEachPage(
    _ method: String, _ params: JSONObject, _ client: Client, _ body: (JSONValue) throws -> Bool
  ) throws {
    var params = params
    params["limit"] = params["limit"] ?? .integer(Int64(Limits.listMaximum))
    while true {
      let page = try client.call(method, .object(params))
      guard try body(page), let next = page.member("next"), next != params["after"] else { return }
      params["after"] = next
    }
  }
}
