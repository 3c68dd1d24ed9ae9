internal import RuledCore
internal import RuledLua
internal import RuledWire

extension TestDriver {
  /// Gives a subject a version and states, and perhaps timers, `once` keys and topics, as if events had made them.
  func give(_ arguments: TestArguments) throws -> [JSONValue] {
    let subject = try arguments.text(0, "a subject")
    guard let version = arguments.value(1)?.intValue, version >= 0 else {
      throw TestFailure("t:given: argument 2 must be the subject's version, a whole number from 0 on")
    }
    let states = try arguments.object(2, "the plugins' states by name") ?? JSONObject()
    // A captured test may have states of plugins that are away.
    for name in states.names where !isCaptured { try requirePlugin(name) }
    let items = try arguments.object(3, "timers, once keys and topics, as export shows them") ?? JSONObject()
    try engine.give(subject, version: UInt64(version), states: states, items: items)
    return []
  }

  /// The answer of the plugin that answers for a host.
  func web(_ arguments: TestArguments) throws -> [JSONValue] {
    guard var request = try arguments.object(0, "a request") else { throw TestFailure("t:web takes a table") }
    guard let host = request["host"]?.stringValue else { throw TestFailure("t:web needs a 'host'") }
    request["method"] = request["method"] ?? "GET"
    request["path"] = request["path"] ?? "/"
    request["headers"] = request["headers"] ?? [:]
    request["body"] = request["body"] ?? ""
    if request["query_string"] == nil {
      let pairs = request["query"]?.objectValue ?? JSONObject()
      request["query_string"] = .string(
        pairs.map { "\($0.name)=\($0.value.stringValue ?? $0.value.text)" }.joined(separator: "&"))
    }
    if request["query"] == nil {
      let target = HTTPTarget("/?\(request["query_string"]?.stringValue ?? "")")
      request["query"] = .object(JSONObject(target.parameters.map { (name: $0.name, value: .string($0.value)) }))
    }
    let text = Array(JSONValue.object(request).text.utf8)
    let buffer = ByteBuffer(capacity: text.count)
    text.withView { buffer.append($0) }
    guard let answer = try engine.evaluator.handlers.web(host: HostName.normalized(host), request: buffer.bytes)
    else {
      throw TestFailure("no plugin answers for the host '\(host)'")
    }
    return answer[0].map { [$0] } ?? []
  }

  /// The request that a sink handler makes of an effect.
  func sink(_ arguments: TestArguments) throws -> [JSONValue] {
    guard var effect = try arguments.object(0, "an effect") else { throw TestFailure("t:sink takes an effect") }
    let name = arguments.value(1)?.stringValue ?? effect["sink"]?.stringValue ?? ""
    if engine.evaluator.catalog.anonymousSinks.contains(name) {
      effect["subject"] = nil
      effect["id"] = .string(SHA256.hash(effect["id"]?.stringValue ?? "").hex)
    }
    let buffer = ByteBuffer(capacity: 512)
    JSONValue.object(effect).write(to: buffer)
    let owner = effect["plugin"]?.stringValue ?? plugin
    guard let answer = try engine.evaluator.handlers.sink(name, plugin: owner, effect: buffer.bytes) else {
      throw TestFailure("plugin '\(owner)' has no handler for the sink '\(name)'")
    }
    guard let request = answer[0], !request.isNull else { return [.null, answer[1] ?? .null] }
    return [request]
  }
}
