import RuledCore
import RuledJSON

/// The description of the HTTP API in OpenAPI 3.1: made of `HTTPEndpoint`, so that it has every route that the router has.
package enum OpenAPIDocument {
  package static let json: [UInt8] = Array(value.text.utf8)

  static let value: JSONValue = [
    "openapi": "3.1.0",
    "info": [
      "title": "ruled", "version": .string(Version.current),
      "description": .string(
        "Events go in, decisions come out. Requests come over the Unix socket, where the kernel tells who asks, or over the loopback "
          + "listener with a bearer token. HEAD is answered like GET, without the body."),
    ],
    "servers": [["url": "/"]],
    "security": [["token": []]],
    "paths": .object(paths),
    "components": [
      "securitySchemes": [
        "token": [
          "type": "http", "scheme": "bearer",
          "description": "Needed over the loopback listener only; its role is http.role of the configuration.",
        ]
      ],
      "parameters": .object(OpenAPIParameters.components), "responses": .object(OpenAPIResponses.components),
      "schemas": .object(OpenAPISchemas.components),
    ],
  ]

  private static var paths: JSONObject {
    var paths = JSONObject()
    for endpoint in HTTPEndpoint.allCases {
      var item = JSONObject()
      if let name = endpoint.itemName { item["parameters"] = [OpenAPIParameters.reference(path: name)] }
      for method in endpoint.methods { item[method.lowercased()] = operation(endpoint, method) }
      paths[endpoint.path] = .object(item)
    }
    return paths
  }

  private static func operation(_ endpoint: HTTPEndpoint, _ method: String) -> JSONValue {
    let description = OpenAPIOperation(endpoint, method)
    var operation: JSONObject = [
      "operationId": .string(description.id), "summary": .string(description.summary),
      "description": .string(
        [description.text, access(endpoint, method)].filter { !$0.isEmpty }.joined(separator: " ")),
    ]
    let parameters = endpoint.parameters(method).map { OpenAPIParameters.reference(query: $0, of: endpoint) }
    let headers: [JSONValue] = endpoint == .watch ? [OpenAPIParameters.reference(path: "last-event-id")] : []
    if !(parameters + headers).isEmpty { operation["parameters"] = .array(parameters + headers) }
    if endpoint.isForProbes { operation["security"] = [] }
    if let body = description.body { operation["requestBody"] = body }
    operation["responses"] = .object(OpenAPIResponses.of(endpoint, method, description))
    return .object(operation)
  }

  /// Who may use an endpoint.
  private static func access(_ endpoint: HTTPEndpoint, _ method: String) -> String {
    guard let role = endpoint.requiredRole(method) else { return "Open to everybody." }
    let socket = endpoint.isOpen ? "open to everybody" : "for administrators only"
    return "Over the socket \(socket), over the listener for the role \(role.rawValue) and those above it."
  }
}

extension HTTPEndpoint {
  /// What the path calls the name in it; nil for a path without one.
  var itemName: String? {
    path.split(separator: "/").first { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
  }
}

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

/// The responses of the OpenAPI document.
enum OpenAPIResponses {
  /// The statuses of errors that any request may get, however its endpoint is called.
  private static let common = [400, 408, 413, 414, 429, 431]

  /// The responses of an operation, by status.
  static func of(_ endpoint: HTTPEndpoint, _ method: String, _ operation: OpenAPIOperation) -> JSONObject {
    let (type, schema) = operation.content
    var responses: JSONObject = ["200": ["description": .string(operation.summary)]]
    if method != "HEAD" {
      var content: JSONObject = [type: ["schema": schema]]
      if let other = operation.otherType { content[other] = ["schema": ["type": "string"]] }
      responses["200"] = ["description": .string(operation.summary), "content": .object(content)]
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
