import RuledCore

/// The past that a test gives a subject, as if events had made it: states as `state` shows them, timers, `once` keys and topics as `export` does.
struct GivenSubject: Sendable {
  struct State: Sendable {
    let plugin: String
    /// The version of its shape; nil for that of the rules in force.
    let version: Int64?
    let state: JSONValue
  }

  struct Timer: Sendable {
    let plugin: String
    let name: String
    let due: Timestamp
    let type: String
    let data: JSONValue
    /// The schedule of a timer that repeats.
    let every: JSONValue?
    /// The id and the source of its event; nil for some that depend on the timer alone.
    let id: String?
    let source: String?
  }

  struct Once: Sendable {
    let plugin: String
    let key: String
    /// Nil for never.
    let expires: Timestamp?
  }

  let version: UInt64
  /// The plugins' states, in order of their names.
  let states: [State]
  let timers: [Timer]
  let once: [Once]
  let topics: [(plugin: String, name: String)]

  /// Reads the given values.
  ///
  /// - Parameters:
  ///   - version: the subject's version.
  ///   - states: the plugins' states by name; one may be `{version, state}`.
  ///   - items: `timers`, `once` and `topics`.
  /// - Throws: `invalid_params` with the reason.
  init(version: UInt64, states: JSONObject, items: JSONObject = JSONObject()) throws(RequestError) {
    self.version = version
    self.states = states.sorted { $0.name < $1.name }.map { Self.state(of: $0.name, $0.value) }
    if let other = items.first(where: { !Self.known.contains($0.name) }) {
      throw Self.error("'\(other.name)' is not known; known are \(Self.known.joined(separator: ", "))")
    }
    var timers: [Timer] = [], once: [Once] = []
    for (index, timer) in try Self.list("timers", items) {
      let path = "timers[\(index)]"
      guard let due = try Self.time(timer, "due", path) else { throw Self.error("\(path) needs 'due'") }
      if let every = timer["every"] {
        do throws(CalendarError) { _ = try Schedule(every) } catch {
          throw Self.error("\(path).every: \(error.message)")
        }
      }
      timers.append(
        Timer(
          plugin: try Self.text(timer, "plugin", path), name: try Self.text(timer, "name", path), due: due,
          type: try Self.text(timer, "type", path), data: timer["data"] ?? [:], every: timer["every"],
          id: timer["id"]?.stringValue, source: timer["source"]?.stringValue))
    }
    for (index, key) in try Self.list("once", items) {
      let path = "once[\(index)]"
      once.append(
        Once(
          plugin: try Self.text(key, "plugin", path), key: try Self.text(key, "key", path),
          expires: try Self.time(key, "expires", path)))
    }
    (self.timers, self.once) = (timers, once)
    topics = try Self.topics(items["topics"])
  }

  private static let known = ["timers", "once", "topics"]

  private static func topics(_ value: JSONValue?) throws(RequestError) -> [(plugin: String, name: String)] {
    let names = value?.objectValue?.isEmpty == true ? [] : value?.arrayValue ?? (value == nil ? [] : [.null])
    var topics: [(plugin: String, name: String)] = []
    for name in names {
      let parts = (name.stringValue ?? "").split(separator: "/", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw error("'topics' must be a list of names such as \"plugin/topic\"") }
      topics.append((parts[0], parts[1]))
    }
    return topics
  }

  /// The given state of a plugin, with its version if that was given.
  private static func state(of plugin: String, _ given: JSONValue) -> State {
    guard let object = given.objectValue, object.count == 2, let version = object["version"]?.intValue,
      version > 0, let state = object["state"], state.objectValue != nil || state.arrayValue != nil
    else { return State(plugin: plugin, version: nil, state: given) }
    return State(plugin: plugin, version: version, state: state)
  }

  private static func list(_ name: String, _ items: JSONObject) throws(RequestError) -> [(Int, JSONObject)] {
    guard let value = items[name] else { return [] }
    let entries = value.objectValue?.isEmpty == true ? [] : value.arrayValue
    guard let entries, entries.allSatisfy({ $0.objectValue != nil }) else {
      throw error("'\(name)' must be a list of tables, as export shows them")
    }
    return entries.enumerated().map { ($0.offset + 1, $0.element.objectValue ?? [:]) }
  }

  private static func text(_ object: JSONObject, _ name: String, _ path: String) throws(RequestError) -> String {
    guard let text = object[name]?.stringValue, !text.isEmpty else { throw error("\(path) needs '\(name)', a string") }
    return text
  }

  private static func time(_ object: JSONObject, _ name: String, _ path: String) throws(RequestError) -> Timestamp? {
    guard let value = object[name], !value.isNull else { return nil }
    if let seconds = value.doubleValue { return Timestamp(seconds: seconds) }
    guard let time = value.stringValue.flatMap({ Timestamp(rfc3339: $0) }) else {
      throw error("\(path).\(name) must be a time in RFC 3339 such as \"2025-11-10T08:00:00Z\", or epoch seconds")
    }
    return time
  }

  private static func error(_ detail: String) -> RequestError { RequestError(.invalidParams, "t:given: \(detail)") }
}
