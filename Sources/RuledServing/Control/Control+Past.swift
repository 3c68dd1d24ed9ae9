import RuledCore
import RuledEngine
import RuledJSON
import RuledLua
import RuledReplay
import RuledStore
import RuledWire

extension Control {
  /// Shows the past of a subject: a state, or an event explained.
  func past(_ params: PastParams, for caller: ControlCaller) {
    let (services, now) = (services, services.context.clock.now)
    answer(caller) { (journal) throws(RequestError) in
      Array(try Self.past(params, in: journal, services, now: now).text.utf8)
    }
  }

  private static func past(
    _ params: PastParams, in journal: JournalService, _ services: Services, now: Timestamp
  ) throws(RequestError) -> JSONValue {
    let lua = LuaWorker()
    let folder = journal.journal.folder
    let past = SubjectPast(
      of: params.subject, in: journal.source, configuration: services.configuration, lua: lua,
      revision: { revision throws(StoreError) in try services.revisions.load(revision) },
      base: { snapshot, subject throws(StoreError) in
        let name = UUIDText.random().text
        return try StoreCopy(of: snapshot.path, in: folder, name: name).content(of: subject)
      })
    switch params.wanted {
    case .stateAt(let moment, let plugin):
      return only(plugin, of: try past.state(at: .time(moment.timestamp(now: now))))
    case .stateOf(let version, let plugin): return only(plugin, of: try past.state(at: .version(version)))
    case .event(let id, let rules, let omitsValues):
      return try past.explain(
        event: id,
        other: try rules.map { rules throws(RequestError) in
          try catalog(rules, services, lua, now: now)
        }, omitsValues: omitsValues)
    }
  }

  /// A state with the parts of the named plugin alone.
  private static func only(_ plugin: String?, of state: JSONValue) -> JSONValue {
    guard let plugin, var object = state.objectValue else { return state }
    object["plugins"] = .object(state["plugins"]?[plugin].map { [plugin: $0] } ?? [:])
    for name in ["timers", "once"] {
      object[name] = state[name]?.arrayValue.map { .array($0.filter { $0["plugin"]?.stringValue == plugin }) }
    }
    let isOwn = { (name: JSONValue?) in name?.stringValue?.hasPrefix("\(plugin)/") == true }
    object["topics"] = state["topics"]?.arrayValue.map { .array($0.filter(isOwn)) }
    object["boards"] = state["boards"]?.arrayValue.map { .array($0.filter { isOwn($0["board"]) }) }
    return .object(object)
  }

  /// Rules that a client sent, with the daemon's settings.
  private static func catalog(
    _ rules: RequestRules, _ services: Services, _ lua: LuaWorker, now: Timestamp
  ) throws(RequestError) -> Catalog {
    let source = try UploadedRules.source(rules, services.uploads)
    do throws(ReloadError) {
      return try CatalogBuilder.build(
        source, configuration: services.configuration.plugins, previous: nil, worker: lua, checksFiles: true, now: now)
    } catch { throw error.requestError }
  }

  func log(_ params: LogParams, for caller: ControlCaller) {
    let now = services.context.clock.now
    answer(caller) { (journal) throws(RequestError) in try journal.log(params, now: now) }
  }

  /// Brings all commits into the journal's files, and replies with the range of these.
  func bringJournalUpToDate(for caller: ControlCaller) {
    answer(caller) { (journal) throws(RequestError) in try journal.bringUpToDate() }
  }

  /// Has the journal's service answer on a thread of its own.
  func answer(_ caller: ControlCaller, _ body: @escaping @Sendable (JournalService) throws(RequestError) -> [UInt8]) {
    guard let journal = services.journal else { return reply(.failure(Self.isOff), to: caller) }
    let read = { @Sendable in Result { () throws(RequestError) in try body(journal) } }
    journal.readers.run(read, then: { [services] in services.reply(text: $0, to: caller) })
  }

  static let isOff = RequestError(
    .unavailable, "there is no journal: it is off in the configuration (journal.keep), or the store is in memory")
}
