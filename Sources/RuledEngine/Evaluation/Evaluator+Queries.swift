import CLuaBridge
package import RuledCore
import RuledLua
import RuledStore

extension Evaluator {
  /// Answers a plugin's query, appending what its function returns.
  ///
  /// `name` is the full name, `plugin.query`; the arguments stand at a place in the document, 0 for none.
  package func query(
    _ name: String, subject: UnsafeRawBufferPointer?, document: OpaquePointer?, arguments: Int, into reply: ByteBuffer
  ) throws(RequestError) {
    guard let found = catalog.query(name) else { throw notFound(query: name) }
    let entry = catalog.plugins[found.plugin]
    let query = entry.manifest.queries[found.query].name
    answersWait = true
    defer { answersWait = false }
    do throws(Failure) {
      let vm = try begin(found.plugin, subject: subject)
      defer { end() }
      guard vm.query(found.query, document: document, arguments: arguments) != .failed else {
        throw vm.failure(rule: query)
      }
      takeLogs(of: vm)
      if storeFailure == nil { reply.append(vm.output) }
    } catch {
      if machines[found.plugin]?.isDead == true { machines[found.plugin] = nil }
      if let storeFailure { throw storeFailure }
      var failure = error
      failure.rule = query
      throw failure.requestError
    }
    if let storeFailure { throw storeFailure }
  }

  /// Calls the handler for a host, or nil when no plugin claims it; the answer is `[{status, headers, body}]`.
  package func web(host: String, request: UnsafeRawBufferPointer) throws(Failure) -> JSONValue? {
    for (plugin, entry) in catalog.plugins.enumerated() {
      guard let index = entry.manifest.hosts.firstIndex(where: { $0.name.lowercased() == host }) else { continue }
      return try call(plugin, name: host) { $0.web(index, request: request) }
    }
    return nil
  }

  /// Calls the sink handler of a plugin, or nil when it has none; the answer is `[request]` or `[null, why]`.
  package func sink(_ sink: String, plugin name: String, effect: UnsafeRawBufferPointer) throws(Failure) -> JSONValue? {
    guard let plugin = catalog.index(of: name),
      let index = catalog.plugins[plugin].manifest.sinkHandlers.firstIndex(where: { $0.name == sink })
    else { return nil }
    return try call(plugin, name: sink) { $0.sink(index, effect: effect) }
  }

  private func call(_ plugin: Int, name: String, _ body: (PluginVM) -> CallResult) throws(Failure) -> JSONValue {
    let vm = try begin(plugin, subject: nil)
    defer { end() }
    let result = body(vm)
    takeLogs(of: vm)
    guard result != .failed else {
      let failure = vm.failure(rule: name)
      if vm.isDead { machines[plugin] = nil }
      throw failure
    }
    return (try? JSONValue(parsing: vm.output)) ?? .null
  }

  /// Begins a reading call in a plugin's machine.
  private func begin(_ plugin: Int, subject name: UnsafeRawBufferPointer?) throws(Failure) -> PluginVM {
    let entry = catalog.plugins[plugin]
    storeFailure = nil
    let vm: PluginVM
    var found: Subject?
    var state: UnsafeRawBufferPointer?
    do {
      vm = try machine(plugin)
      if let name {
        let subject = try findSubject(name)
        found = subject
        state =
          try view(subject)?.state(of: entry.name)
          ?? UnsafeRawBufferPointer(start: states.bytes.baseAddress, count: 0)
      }
    } catch let error as LoadError {
      throw Failure(plugin: entry.name, kind: .error, message: error.message, file: error.file, line: error.line)
    } catch {
      storeFailure = error as? RequestError
      throw Failure(plugin: entry.name, kind: .error, message: storeFailure?.message ?? "the store failed")
    }
    subject = found
    let now = context.clock.now.microseconds
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    event = EventInput(
      type: none, subject: name ?? none, source: none, id: none, time: now, document: nil, data: 0, attributes: 0,
      text: none, now: now)
    var native = rb_event()
    native.subject = rb_slice(name ?? none)
    native.time = Double(now) / 1e6
    native.now = Double(now) / 1e6
    native.read_only = true
    if let state { native.state = rb_slice(state) }
    guard vm.begin(&native, budget: entry.manifest.budget) != .failed else { throw vm.failure(rule: nil) }
    return vm
  }

  private func notFound(query name: String) -> RequestError {
    let all = catalog.plugins.flatMap { plugin in plugin.manifest.queries.map { "\(plugin.name).\($0.name)" } }
    let near = NearestName.find(name, in: all).map { "; did you mean '\($0)'?" } ?? ""
    return RequestError(.notFound, "there is no query '\(name)'\(near)")
  }
}
