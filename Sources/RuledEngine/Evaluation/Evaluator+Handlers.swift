package import RuledCore
package import RuledJSON
import RuledLua
import RuledStore

/// Calls the functions of plugins that change nothing: queries, and the handlers of hosts and sinks.
extension Evaluator {
  // MARK: Queries

  /// Appends the answer of a plugin's query.
  ///
  /// `name` is the full name, `plugin.query`. The query may be about a subject or about none.
  package func query(
    _ name: String, subject: ByteView?, arguments: TapeValue?, into reply: ByteBuffer
  ) throws(RequestError) {
    guard let found = plugins.catalog.query(name) else { throw notFound(query: name) }
    let plugin = plugins.all[found.plugin]
    let declaration = plugin.loaded.manifest.queries[found.query]
    let query = declaration.name
    if let schema = declaration.arguments {
      do throws(SchemaMismatch) { try schema.check(arguments, at: "args", onlyKnown: schema.names) } catch {
        throw error.requestError
      }
    }
    var loaded: Subject?
    var record: SubjectRecordView?
    if let subject {
      let subject = try subjects.fetchSubject(subject)
      loaded = subject
      record = try subjects.record(of: subject)
    }
    transaction.beginReading(loaded, record: record, now: context.clock.now.microseconds)
    defer { transaction.end() }
    do throws(Failure) {
      let vm = try callHandler(plugin, name: query) {
        $0.query(found.query, arguments: arguments)
      }
      if transaction.storeFailure == nil { reply.append(vm.output) }
    } catch {
      if let failure = transaction.storeFailure { throw failure }
      var failure = error
      failure.rule = query
      throw failure.requestError
    }
    if let failure = transaction.storeFailure { throw failure }
  }

  private func notFound(query name: String) -> RequestError {
    guard name.utf8.count <= Limits.typeBytes else {
      return RequestError(.notFound, "there is no query whose name is longer than \(Limits.typeBytes) bytes")
    }
    let all = plugins.catalog.plugins.flatMap { plugin in plugin.manifest.queries.map { "\(plugin.name).\($0.name)" } }
    // A name without a dot stands for a plugin's name, followed by a dot.
    guard name.hasSuffix(".") else {
      let plugin = String(name.prefix { $0 != "." })
      let reason =
        plugins.catalog.disabled.contains(plugin)
        ? ", as the configuration disables the plugin"
        : plugins.catalog.index(of: plugin) == nil ? ", as no plugin '\(plugin)' is loaded" : ""
      return RequestError(.notFound, "there is no query '\(name)'\(reason)\(NearestName.hint(name, in: all))")
    }
    let example = all.first { $0.hasSuffix(".\(name.dropLast())") } ?? "PLUGIN.QUERY"
    return RequestError(.notFound, "there is no query '\(name.dropLast())'; write plugin and query, as in '\(example)'")
  }

  // MARK: Handlers

  /// Calls the handler of a host.
  ///
  /// - Returns: `[{status, headers, body}]`; nil when no plugin answers for the host.
  package func web(host: String, request: ByteView) throws(Failure) -> JSONValue? {
    for plugin in plugins.all {
      guard let index = plugin.loaded.manifest.hosts.firstIndex(where: { $0.name == host }) else {
        continue
      }
      return try handle(plugin, name: host) { $0.web(index, request: request) }
    }
    return nil
  }

  /// Calls the handler of a plugin's sink.
  ///
  /// - Returns: `[request]`, or `[null, why]`; nil when the plugin has no such handler.
  package func sink(_ sink: String, plugin name: String, effect: ByteView) throws(Failure) -> JSONValue? {
    guard let plugin = plugins.all.first(where: { $0.loaded.name == name }),
      let index = plugin.loaded.manifest.sinkHandlers.firstIndex(where: { $0.name == sink })
    else { return nil }
    return try handle(plugin, name: sink) { $0.sink(index, effect: effect) }
  }

  private func handle(
    _ plugin: WorkerPlugin, name: String, _ body: (PluginVM) -> CallResult
  ) throws(Failure) -> JSONValue {
    transaction.beginReading(nil, record: nil, now: context.clock.now.microseconds)
    defer { transaction.end() }
    let vm = try callHandler(plugin, name: name, body)
    return (try? JSONValue(parsing: vm.output)) ?? .null
  }

  /// Calls a function of a plugin within the transaction that has begun; a failure calls it `name`.
  private func callHandler(
    _ plugin: WorkerPlugin, name: String, _ body: (PluginVM) -> CallResult
  ) throws(Failure) -> PluginVM {
    let vm = try plugins.vm(of: plugin)
    var event = try transaction.readingEvent(for: plugin.loaded)
    defer { plugin.dropDeadVM() }
    guard vm.begin(&event, budget: plugin.loaded.manifest.budget) != .failed else { throw vm.failure(rule: nil) }
    let result = body(vm)
    transaction.writeLog(of: vm)
    guard result != .failed else { throw vm.failure(rule: name) }
    return vm
  }
}
