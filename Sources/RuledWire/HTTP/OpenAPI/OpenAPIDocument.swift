import RuledCore
import RuledJSON

/// The description of the HTTP API in OpenAPI 3.1: made of `HTTPEndpoint`, so that it has every route that the router has.
package enum OpenAPIDocument {
  /// The document as JSON.
  package static let json: [UInt8] = Array(value.text.utf8)

  /// The document.
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
