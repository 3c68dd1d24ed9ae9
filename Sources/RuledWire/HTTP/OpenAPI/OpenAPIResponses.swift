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
