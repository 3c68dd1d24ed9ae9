import RuledCore

/// The responses of the OpenAPI document.
enum OpenAPIResponses {
  /// The statuses of errors that any request may get, however its endpoint is called.
  private static let common = [400, 408, 413, 414, 429, 431]

  /// The responses of an operation, by status.
  static func of(_ endpoint: HTTPEndpoint, _ method: String, _ operation: OpenAPIOperation) -> JSONObject {
    let (type, schema) = operation.content
    var responses: JSONObject = ["200": ["description": .string(operation.summary)]]
    if method != "HEAD" {
      responses["200"] = [
        "description": .string(operation.summary), "content": .object([type: ["schema": schema]]),
      ]
    }
    var statuses = Set(common + operation.errors)
    if !endpoint.isForProbes { statuses.formUnion([401, 403]) }
    for status in statuses.sorted() {
      let name =
        switch (endpoint, status) {
        case (.ready, 503): "NotReady"
        case (.dashboard, 303): "Session"
        case (.dashboard, 401): "Locked"
        default: "Error\(status)"
        }
      responses[String(status)] = ["$ref": .string("#/components/responses/\(name)")]
    }
    return responses
  }

  /// The responses that operations share.
  static var components: JSONObject {
    var responses = JSONObject()
    for (status, description) in descriptions { responses["Error\(status)"] = error(description, status) }
    responses["Session"] = [
      "description": "The session has begun; its cookie is set.",
      "headers": ["Location": ["required": true, "schema": ["type": "string"]]],
    ]
    responses["Locked"] = [
      "description": "There is no session: how to get one.",
      "content": [
        "text/html": ["schema": ["type": "string"]], "text/plain": ["schema": ["type": "string"]],
        "application/json": ["schema": OpenAPISchemas.reference("Error")],
      ],
    ]
    responses["NotReady"] = [
      "description": "The daemon is degraded, or shuts down.",
      "content": ["application/json": ["schema": OpenAPISchemas.reference("Probe")]],
    ]
    return responses
  }

  private static let descriptions: [(Int, String)] = [
    (400, "Malformed, or with a parameter or member that is wrong or unknown."),
    (401, "The bearer token is missing or wrong."), (403, "The token's role, or the peer, may not do this."),
    (404, "No such subject, query or parked event."), (408, "The request did not arrive in time."),
    (413, "The body is longer than limits.request_bytes."), (414, "The request line is too long."),
    (415, "The content type is not one of those listed."), (422, "The rules do not load; the old ones serve."),
    (429, "Too many requests are in flight, or too many connections are open."), (431, "The head is too long."),
    (500, "The query's rule failed."),
    (503, "The store or the daemon can't do it now: nothing was applied, unless the code is outcome_unknown."),
  ]

  private static func error(_ description: String, _ status: Int) -> JSONValue {
    var response: JSONObject = [
      "description": .string(description),
      "content": ["application/json": ["schema": OpenAPISchemas.reference("Error")]],
    ]
    switch status {
    case 401: response["headers"] = ["WWW-Authenticate": ["required": true, "schema": ["type": "string"]]]
    case 429: response["headers"] = ["Retry-After": ["required": true, "schema": ["type": "integer", "minimum": 1]]]
    default: break
    }
    return .object(response)
  }
}

/// The parameters of the OpenAPI document: those in paths, query strings and headers.
enum OpenAPIParameters {
  /// A reference to a parameter in a path or a header.
  static func reference(path name: String) -> JSONValue { ["$ref": .string("#/components/parameters/\(name)")] }

  /// A reference to a parameter in an endpoint's query string; the `after` of a list depends on the list.
  static func reference(query name: String, of endpoint: HTTPEndpoint) -> JSONValue {
    let isOwn = name == "after" && endpoint != .subjects
    return reference(path: isOwn ? "\(name)-\(endpoint)" : "query-\(name)")
  }

  /// All parameters.
  static var components: JSONObject {
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
        "after", "The sequence after which the changes begin.",
        ["oneOf": [["type": "integer", "minimum": 0, "maximum": .integer(.max)], ["const": ""]]]),
      "query-limit": query(
        "limit", "How long the list may get; 100 by default.",
        [
          "oneOf": [
            ["type": "integer", "minimum": 1, "maximum": .integer(Int64(Limits.listMaximum))], ["const": ""],
          ]
        ]),
      "query-plugin": query("plugin", "The plugin that is wanted; empty for all.", text),
      "query-plugins": query("plugins", "The plugins that are wanted, with commas between.", text),
      "query-subject": query(
        "subject", "The subject that is wanted; all without it.", ["anyOf": [name, ["const": ""]]]),
      "query-sink": query("sink", "The sink that is wanted; all without it.", text),
      "query-type": query("type", "The effects' type that is wanted; all without it.", text),
      "query-status": query(
        "status", "Only those that wait, or only those that were given up.", ["enum": ["waiting", "failed", ""]]),
      "query-data": query(
        "data", "Whether the effects' data is wanted too.", ["oneOf": [["type": "boolean"], ["const": ""]]]),
      "query-token": query(
        "token", "The token of the link that 'rulectl dashboard' prints; it works once.", text),
      "query-at": query(
        "at", "The time in the past whose state is wanted, or how long ago; now without it.",
        [
          "anyOf": [
            ["type": "string", "format": "date-time"], ["type": "string", "pattern": "^[0-9]{1,6}[smhd]$"],
            ["const": ""],
          ]
        ]),
      "query-version": query(
        "version", "The version whose state is wanted.",
        ["oneOf": [["type": "integer", "minimum": 1, "maximum": .integer(.max)], ["const": ""]]]),
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

  private static func path(_ name: String, _ description: String, _ schema: JSONValue) -> JSONValue {
    ["name": .string(name), "in": "path", "required": true, "description": .string(description), "schema": schema]
  }

  private static func query(_ name: String, _ description: String, _ schema: JSONValue) -> JSONValue {
    ["name": .string(name), "in": "query", "description": .string(description), "schema": schema]
  }
}
