import RuledCore
import RuledJSON
import Testing

@testable import RuledWire

@Suite struct OpenAPITests {
  private let document: JSONValue

  init() throws { document = try OpenAPIDocument.json.withView { try JSONValue(parsing: $0) } }

  @Test func `it describes the endpoints of this version and no others`() throws {
    #expect(document["info"]?["version"]?.stringValue == Version.current)
    #expect(Set(try #require(document["paths"]?.objectValue).names) == Set(HTTPEndpoint.allCases.map(\.path)))
  }

  @Test(arguments: HTTPEndpoint.allCases)
  func `each endpoint is described with its methods, parameters and who may use it`(_ endpoint: HTTPEndpoint) throws {
    let path = try #require(document["paths"]?[endpoint.path])
    let methods = try #require(path.objectValue).names.filter { $0 != "parameters" }
    #expect(Set(methods) == Set(endpoint.methods.map { $0.lowercased() }))
    let items = endpoint.path.split(separator: "/").filter { $0.hasPrefix("{") }.map { $0.dropFirst().dropLast() }
    #expect(try parameters(of: path, in: "path") == items.map(String.init))
    for method in endpoint.methods {
      let operation = try #require(path[method.lowercased()])
      #expect(try parameters(of: operation, in: "query") == endpoint.parameters(method))
      #expect((operation["security"] == []) == endpoint.isForProbes)
      #expect(operation["description"]?.stringValue?.hasSuffix(access(endpoint, method)) == true)
      let isProtected = operation["responses"]?["401"] != nil && operation["responses"]?["403"] != nil
      #expect(isProtected == !endpoint.isForProbes)
    }
  }

  private func access(_ endpoint: HTTPEndpoint, _ method: String) -> String {
    guard let role = endpoint.requiredRole(method) else { return "Open to everybody." }
    let socket = endpoint.isOpen ? "open to everybody" : "for administrators only"
    return "Over the socket \(socket), over the listener for the role \(role.rawValue) and those above it."
  }

  private func parameters(of value: JSONValue, in place: String) throws -> [String] {
    let references = (value["parameters"]?.arrayValue ?? []).compactMap { $0["$ref"]?.stringValue }
    return try references.map { try #require(resolve($0)) }.filter { $0["in"]?.stringValue == place }
      .compactMap { $0["name"]?.stringValue }
  }

  @Test func `operations have names of their own`() throws {
    let names = try HTTPEndpoint.allCases.flatMap { endpoint in
      try endpoint.methods.map { method in
        try #require(document["paths"]?[endpoint.path]?[method.lowercased()]?["operationId"]?.stringValue)
      }
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

  @Test(arguments: [
    ("parameters/query-limit/schema/oneOf/0/maximum", Limits.listMaximum),
    ("parameters/limit-log/schema/oneOf/0/maximum", LogParams.mostEntries),
    ("parameters/type-log/schema/maxLength", Limits.typeBytes), ("schemas/Name/maxLength", Limits.subjectBytes),
    ("schemas/EffectSelection/oneOf/1/properties/keys/maxItems", Limits.listMaximum),
    ("schemas/Lease/properties/limit/maximum", Limits.listMaximum),
    ("schemas/Lease/properties/seconds/maximum", Int(Limits.leaseSeconds)),
    ("schemas/Lease/properties/wait/maximum", Int(Limits.leaseWaitSeconds)),
    ("schemas/Confirmation/properties/leases/maxItems", Limits.listMaximum),
  ])
  func `its limits are those of the program`(_ place: String, _ limit: Int) {
    #expect(resolve("#/components/" + place)?.intValue == Int64(limit))
  }

  @Test func `it names the codes of errors that the program has`() {
    let codes = resolve("#/components/schemas/Error/properties/data/properties/code/enum")?.arrayValue
    #expect(codes == RequestError.Code.allCases.map { .string($0.rawValue) })
  }

  private func resolve(_ reference: String) -> JSONValue? {
    var value = document
    for name in reference.split(separator: "/").dropFirst() {
      guard let next = Int(name).flatMap({ value.arrayValue?[$0] }) ?? value[String(name)] else { return nil }
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
