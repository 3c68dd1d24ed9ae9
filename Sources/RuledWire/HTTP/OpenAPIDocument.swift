import COpenAPI

/// The description of the HTTP API in OpenAPI 3.1: `docs/openapi.json`, which a test holds against `HTTPEndpoint`.
package enum OpenAPIDocument {
  package static let json = Array(UnsafeBufferPointer(start: openapi_text(), count: openapi_length()))
}
