import RuledCore

/// The parameters of the OpenAPI document: those in paths, query strings and headers.
enum OpenAPIParameters {
  /// A reference to a parameter in a path or a header.
  static func reference(path name: String) -> JSONValue { ["$ref": .string("#/components/parameters/\(name)")] }

  /// A reference to a parameter in an endpoint's query string; the `after` of a list depends on the list, and those of the journal are its own.
  static func reference(query name: String, of endpoint: HTTPEndpoint) -> JSONValue {
    switch (endpoint, name) {
    case (.log, "after"), (.log, "limit"), (.log, "type"): reference(path: "\(name)-log")
    case (.subjectLog, _): reference(query: name, of: .log)
    case (.parked, "after"), (.effects, "after"), (.watch, "after"): reference(path: "\(name)-\(endpoint)")
    default: reference(path: "query-\(name)")
    }
  }

  /// All parameters.
  static var components: JSONObject {
    var parameters = common
    for member in past { parameters[member.name] = member.value }
    return parameters
  }

  private static var common: JSONObject {
    let name = OpenAPISchemas.reference("Name")
    let text: JSONValue = ["type": "string"]
    let id: JSONValue = ["type": "string", "pattern": "^([0-9a-f]{1,16}-[^\\x00]*)?$"]
    return [
      "subject": path("subject", "The subject; a slash in it is written %2F.", name),
      "query": path("query", "PLUGIN.QUERY, such as gamification.profile.", ["type": "string", "minLength": 1]),
      "revision": path("revision", "The revision.", ["type": "string", "minLength": 1]),
      "file": path("file", "The file's name.", ["type": "string", "minLength": 1]),
      "id": path(
        "id", "The id that the list of parked events, or of effects, shows.", ["type": "string", "minLength": 1]),
      "query-prefix": query("prefix", "How the names begin; empty for all.", text),
      "query-after": query("after", "The subject after which the list begins: `next` of the page before.", text),
      "after-parked": query("after", "The id after which the list begins: `next` of the page before.", id),
      "after-effects": query("after", "The key after which the list begins: `next` of the page before.", id),
      "after-watch": query(
        "after", "The sequence after which the changes begin.", number(0...Int64.max)),
      "query-limit": query(
        "limit", "How long the list may get; 100 by default.", number(1...Int64(Limits.listMaximum))),
      "query-plugin": query("plugin", "The plugin that is wanted; empty for all.", text),
      "query-plugins": query("plugins", "The plugins that are wanted, with commas between.", text),
      "query-subject": query(
        "subject", "The subject that is wanted; all without it.", ["anyOf": [name, ["const": ""]]]),
      "query-sink": query("sink", "The sink that is wanted; all without it.", text),
      "query-type": query("type", "The effects' type that is wanted; all without it.", text),
      "query-status": query(
        "status", "Only those that wait, or only those that were given up.", ["enum": ["waiting", "failed", ""]]),
      "query-data": query("data", "Whether the effects' data is wanted too.", boolean),
      "query-token": query(
        "token", "The token of the link that 'rulectl dashboard' prints; it works once.", text),
      "query-labels": [
        "name": "labels", "in": "query", "description": "Labels that the counters must have.",
        "content": ["application/json": ["schema": OpenAPISchemas.reference("Labels")]],
      ],
      "last-event-id": [
        "name": "Last-Event-ID", "in": "header", "description": "The same as `after`, which it replaces.",
        "schema": ["type": "string", "pattern": "^[0-9]{0,18}$"],
      ],
    ]
  }

  /// The parameters of what is asked about the past.
  private static var past: JSONObject {
    [
      "query-at": query(
        "at", "The time in the past whose state is wanted, or how long ago; now without it. It goes without `version`.",
        moment),
      "query-version": query("version", "The version whose state is wanted.", number(1...Int64.max)),
      "after-log": query("after", "The sequence after which the entries begin.", number(0...Int64.max)),
      "limit-log": query(
        "limit", "How many entries there may be; 1,000 by default.", number(1...Int64(LogParams.mostEntries))),
      "type-log": query(
        "type", "The events' type, or a prefix of it that ends in `.*`; all without it.",
        [
          "type": "string", "maxLength": .integer(Int64(Limits.typeBytes)),
          "pattern": "^(\\*|[^\\u0000-\\u001F\\u007F*]+(\\.\\*)?)?$",
        ]),
      "query-decision": query(
        "decision", "What was decided: KEY or KEY=VALUE; anything without it.",
        ["anyOf": [["type": "string", "pattern": "^[^=]"], ["const": ""]]]),
      "query-failures": query("failures", "Whether only entries with failures are wanted.", boolean),
      "query-since": query("since", "When the entries begin, or how long ago; with the first without it.", moment),
      "query-until": query("until", "When the entries end, or how long ago; with the last without it.", moment),
    ]
  }

  private static let boolean: JSONValue = ["oneOf": [["type": "boolean"], ["const": ""]]]

  private static let moment: JSONValue = [
    "anyOf": [
      ["type": "string", "format": "date-time"], ["type": "string", "pattern": "^[0-9]{1,6}[smhd]$"], ["const": ""],
    ]
  ]

  private static func number(_ range: ClosedRange<Int64>) -> JSONValue {
    [
      "oneOf": [
        ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)],
        ["const": ""],
      ]
    ]
  }

  private static func path(_ name: String, _ description: String, _ schema: JSONValue) -> JSONValue {
    ["name": .string(name), "in": "path", "required": true, "description": .string(description), "schema": schema]
  }

  private static func query(_ name: String, _ description: String, _ schema: JSONValue) -> JSONValue {
    ["name": .string(name), "in": "query", "description": .string(description), "schema": schema]
  }
}
