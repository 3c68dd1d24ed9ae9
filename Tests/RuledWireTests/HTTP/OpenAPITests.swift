import RuledCore
import RuledJSON
import Testing

@testable import RuledWire

@Suite struct OpenAPITests {
  private let document = OpenAPIDocument.value

  @Test(arguments: HTTPEndpoint.allCases)
  func `each endpoint is described with its methods and parameters`(_ endpoint: HTTPEndpoint) throws {
    let path = try #require(document["paths"]?[endpoint.path])
    let methods = try #require(path.objectValue).names.filter { $0 != "parameters" }
    #expect(Set(methods) == Set(endpoint.methods.map { $0.lowercased() }))
    for method in endpoint.methods {
      let operation = try #require(path[method.lowercased()])
      let references = (operation["parameters"]?.arrayValue ?? []).compactMap { $0["$ref"]?.stringValue }
      let parameters = try references.map { try #require(resolve($0)) }
      let names = parameters.filter { $0["in"] == "query" }.compactMap { $0["name"]?.stringValue }
      #expect(names == endpoint.parameters(method))
      #expect((operation["security"] == []) == (endpoint.requiredRole(method) == nil))
    }
  }

  @Test func `operations have names of their own`() throws {
    var names: [String] = []
    for endpoint in HTTPEndpoint.allCases {
      for method in endpoint.methods { names.append(OpenAPIOperation(endpoint, method).id) }
    }
    #expect(Set(names).count == names.count)
  }

  @Test func `every reference leads somewhere`() throws {
    var count = 0
    forEachReference(in: document) { reference in
      count += 1
      #expect(resolve(reference) != nil, "\(reference)")
    }
    #expect(count > 100)
  }

  @Test func `it is JSON as it is served`() throws {
    #expect(try OpenAPIDocument.json.withView { try JSONValue(parsing: $0) } == document)
  }

  private func resolve(_ reference: String) -> JSONValue? {
    var value = document
    for name in reference.split(separator: "/").dropFirst() {
      guard let next = value[String(name)] else { return nil }
      value = next
    }
    return value
  }

  private func forEachReference(in value: JSONValue, _ body: (String) -> Void) {
    if let reference = value["$ref"]?.stringValue { body(reference) }
    for member in value.objectValue ?? [:] { forEachReference(in: member.value, body) }
    for element in value.arrayValue ?? [] { forEachReference(in: element, body) }
  }
}
