internal import RuledCore
internal import RuledEngine
internal import RuledLua

struct Capture {
  /// The most senders before an event, each of which got the message of the one before.
  private static let mostSenders = 3

  let client: Client
  /// The revision that decided last.
  private(set) var revision = ""
  private var senders: [String: [JSONValue]] = [:]

  init(client: Client) { self.client = client }

  mutating func test(of subject: String, since: String?) throws -> CapturedTest {
    let entries = try entries(of: subject, since: since)
    guard let first = entries.first, let last = entries.last else {
      throw ToolError("the journal has no events of '\(subject)' in that time", exit: .no)
    }
    revision = last.member("revision")?.stringValue ?? ""
    var test = CapturedTest(name: "captured from \(subject) at \(first.word("at"))")
    var steps: [(sequence: Int64, steps: [CapturedTest.Step])] = []
    // By the sequence of an entry: that of the step that brings it about.
    var causes: [Int64: Int64] = [:]
    // By the sequence of a step: the last decisions on the events that follow, and what comes before it: other subjects' states, plugins that fail.
    var decided: [Int64: JSONValue] = [:]
    var preparing: [Int64: [CapturedTest.Step]] = [:]
    var answering: [Int64: Set<String>] = [:]
    var effects: [Int64: [JSONValue]] = [:]
    test.steps += try given(subject, before: first, firing: entries, setsClock: true)
    for entry in entries {
      let sequence = Self.sequence(of: entry)
      var cause = sequence
      switch entry.member("origin")?.stringValue {
      case "client":
        steps.append((sequence, Self.steps(entry, expecting: true)))
        preparing[sequence] = failures(on: entry, of: subject)
      case "message":
        guard let sent = try sending(entry, to: subject, after: causes, depth: 0) else { continue }
        if let own = causes[sent.sequence] {
          cause = own
          let from = entry.member("event")?.word("from") ?? ""
          if answering[own, default: []].insert(from).inserted { preparing[own, default: []] += sent.steps }
        } else {
          cause = sent.sequence
          steps.append((cause, sent.steps))
        }
        preparing[cause, default: []] += failures(on: entry, of: subject)
        if cause != sequence { decided[cause] = Self.decisions(of: entry) }
      case "timer":
        if let at = Self.time(of: entry) { steps.append((sequence, [.at(at)])) }
        preparing[sequence] = failures(on: entry, of: subject)
        decided[sequence] = Self.decisions(of: entry)
      case "retry":
        let retry = CapturedTest.Step.retry(
          subject, plugin: entry.member("plugin")?.stringValue ?? "",
          event: entry.member("event")?.member("id")?.stringValue)
        steps.append((sequence, (Self.time(of: entry).map { [.at($0)] } ?? []) + [retry]))
        decided[sequence] = Self.decisions(of: entry)
      default: break
      }
      causes[sequence] = cause
      effects[cause, default: []] += entry.elements("effects")
    }
    var played: Set<Int64> = []
    for step in steps.sorted(by: { $0.sequence < $1.sequence }) where played.insert(step.sequence).inserted {
      test.steps += (preparing[step.sequence] ?? []) + step.steps
      if let decisions = decided[step.sequence] { test.steps.append(.decided(subject, decisions)) }
      test.steps.append(.effects(subject, from: 0, (effects[step.sequence] ?? []).map(CapturedTest.withoutIdentity)))
    }
    return test
  }

  /// The rules that decided last, and the steps that configure them as they were; nil when they are not kept.
  func rules() throws -> (catalog: Catalog, settings: [CapturedTest.Step])? {
    let answer = try client.call("revision", ["revision": .string(revision)], unless: [.notFound])
    guard let shown = answer else { return nil }
    var configuration: [String: Configuration.Plugin] = [:]
    for (plugin, configured) in shown.member("configuration")?.objectValue ?? [:] {
      configuration[plugin] = Configuration.Plugin(
        sources: configured.member("sources")?.arrayValue?.compactMap(\.stringValue),
        settings: configured.member("settings")?.objectValue ?? [:])
    }
    let catalog = try CatalogBuilder.build(
      RulesSource(shown: shown), configuration: configuration, previous: nil, worker: LuaWorker(),
      now: Timestamp(microseconds: 0))
    let settings = catalog.plugins.compactMap { plugin -> CapturedTest.Step? in
      let known = plugin.manifest.settings
      let values = plugin.overrides.filter { known[$0.name] != nil }
      return values.isEmpty ? nil : .settings(plugin.name, JSONObject(values))
    }
    return (catalog, settings)
  }

  // MARK: Entries

  /// The steps that let plugins fail on an entry's event as recorded where they would not by themselves: other rules failed, or the machine did.
  private func failures(on entry: JSONValue, of subject: String) -> [CapturedTest.Step] {
    let isSame = entry.member("revision")?.stringValue == revision
    return entry.elements("failures").compactMap { Failure(json: $0) }.filter { !isSame || $0.isOfMachine }.map {
      .failing(subject, plugin: $0.plugin)
    }
  }

  private static func steps(_ entry: JSONValue, expecting: Bool) -> [CapturedTest.Step] {
    var steps: [CapturedTest.Step] = []
    if let time = time(of: entry) { steps.append(.at(time)) }
    var event = entry.member("event")?.objectValue ?? [:]
    for instruction in ["dryrun", "explain", "wait", "specversion"] { event[instruction] = nil }
    steps.append(.event(event, decisions: expecting ? .some(decisions(of: entry)) : .none))
    return steps
  }

  private static func sequence(of entry: JSONValue) -> Int64 { entry.member("sequence")?.intValue ?? 0 }

  private static func decisions(of entry: JSONValue) -> JSONValue { entry.member("decisions") ?? [:] }

  private static func time(of entry: JSONValue, _ member: String = "at") -> Timestamp? {
    entry.member(member)?.stringValue.flatMap { Timestamp(rfc3339: $0) }
  }

  /// The event of a message's sender that sent it; nil when the journal does not have it, or can't tell.
  ///
  /// A message has whole milliseconds: of several events of one, the message's id tells which sent it.
  private mutating func cause(of message: JSONValue) throws -> JSONValue? {
    guard let event = message.member("event"), let from = event.member("from")?.stringValue,
      let sent = Self.time(of: event, "time")?.rfc3339
    else { return nil }
    let sequence = Self.sequence(of: message)
    let causes = try events(of: from).filter { entry in
      Self.sequence(of: entry) < sequence
        && (Self.time(of: entry, "now") ?? Self.time(of: entry))?.rfc3339 == sent
    }
    guard causes.count > 1 else { return causes.first }
    guard let id = event.member("id")?.stringValue, let plugin = event.member("sent_by")?.stringValue else {
      return nil
    }
    let index = ConsequenceID.cause(ofMessage: id, of: plugin, among: causes.map { $0.member("event") ?? .null })
    return index.map { causes[$0] }
  }

  /// The steps that have a recorded message sent again: by the event that sent it, or by one of the same form if that event is not known.
  ///
  /// One that follows from an entry of the subject itself, of which `known` has all so far, is sent again by itself, from other subjects' states.
  private mutating func sending(
    _ message: JSONValue, to subject: String, after known: [Int64: Int64], depth: Int
  ) throws -> (sequence: Int64, steps: [CapturedTest.Step])? {
    guard let from = message.member("event")?.member("from")?.stringValue else { return nil }
    let sequence = Self.sequence(of: message)
    let cause = try cause(of: message)
    if from == subject {
      guard let own = cause.map(Self.sequence) else { return nil }
      return known[own] == nil ? (sequence, Self.plain(message)) : (own, [])
    }
    guard let cause else { return (sequence, Self.plain(message)) }
    let before = try given(from, before: cause)
    switch cause.member("origin")?.stringValue {
    case "client":
      return (Self.sequence(of: cause), before + Self.steps(cause, expecting: false))
    case "message" where depth < Self.mostSenders:
      guard let earlier = try sending(cause, to: subject, after: known, depth: depth + 1) else { return nil }
      return (earlier.sequence, before + earlier.steps)
    default: return (sequence, Self.plain(message))
    }
  }

  /// The steps that send a message's event as a client would.
  private static func plain(_ message: JSONValue) -> [CapturedTest.Step] {
    let event = message.member("event")?.objectValue ?? [:]
    var plain = JSONObject()
    for name in ["type", "subject", "id", "source", "time", "data"] { plain[name] = event[name] }
    let sender = event["from"]?.stringValue ?? "another subject"
    let note = CapturedTest.Step.note("a message, sent as an event, which has no sender", "from \(sender)")
    var steps: [CapturedTest.Step] = [note]
    if let time = time(of: message) { steps.append(.at(time)) }
    return steps + [.event(plain, decisions: decisions(of: message))]
  }

  /// The steps that give a subject the state, timers, `once` keys and topics that it had before an entry; none if that is its first event.
  ///
  /// A timer among `firing` gets the id that its event had.
  private func given(
    _ subject: String, before entry: JSONValue, firing: [JSONValue] = [], setsClock: Bool = false
  ) throws -> [CapturedTest.Step] {
    let isRetry = entry.member("origin")?.stringValue == "retry"
    let version = (entry.member("version")?.intValue ?? 1) - (isRetry ? 0 : 1)
    guard version > 0 else { return [] }
    let state: JSONValue
    do { state = try client.call("state", ["subject": .string(subject), "version": .integer(version)]) } catch let error
      as DaemonError
    {
      return [.note("a state is not known", "that of \(subject) at version \(version): \(error.message)")]
    }
    let fired = firing.filter { $0.member("origin")?.stringValue == "timer" }
    var items = JSONObject()
    items["timers"] = .array(state.elements("timers").map { Self.withIdentity($0, among: fired) })
    for name in ["once", "topics"] { items[name] = .array(state.elements(name)) }
    items = JSONObject(items.filter { $0.value.arrayValue?.isEmpty == false })
    let given = CapturedTest.Step.given(
      subject, version: version, states: state.member("plugins")?.objectValue ?? [:], items: items)
    guard setsClock, let time = Self.time(of: state) else { return [given] }
    return [.at(time), given]
  }

  /// A timer with the exact time, the id and the source of its event, from which other ids are made, if it is among those that fired.
  private static func withIdentity(_ timer: JSONValue, among fired: [JSONValue]) -> JSONValue {
    let entry = fired.first { entry in
      entry.member("plugin") == timer.member("plugin") && entry.member("timer") == timer.member("name")
        && due(of: entry).map { JSONValue.string($0.rfc3339) } == timer.member("due")
    }
    guard let entry, let event = entry.member("event"), var named = timer.objectValue else { return timer }
    for name in ["id", "source"] { named[name] = event.member(name) }
    named["due"] = due(of: entry).map { .string($0.exactRFC3339) }
    return .object(named)
  }

  private static func due(of entry: JSONValue) -> Timestamp? {
    entry.member("event")?.member("due")?.intValue.map { Timestamp(microseconds: $0) }
  }

  private mutating func events(of subject: String) throws -> [JSONValue] {
    if let known = senders[subject] { return known }
    let found = try entries(of: subject, since: nil)
    senders[subject] = found
    return found
  }

  /// A subject's entries since it, or its past, was last erased.
  private func entries(of subject: String, since: String?) throws -> [JSONValue] {
    var params: JSONObject = ["subject": .string(subject)]
    params["since"] = since.map(JSONValue.string)
    let found = try PagedList.all("log", params, client, "entries")
    let start = found.lastIndex { ["forget", "kept"].contains($0.member("origin")?.stringValue) }.map { $0 + 1 } ?? 0
    return Array(found[start...])
  }
}
