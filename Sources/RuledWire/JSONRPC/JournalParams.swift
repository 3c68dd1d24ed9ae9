package import RuledCore
import RuledJSON

/// What `log` takes: which entries of the journal are wanted.
package struct LogParams: Sendable, Equatable {
  /// The subject, or nil for all.
  package let subject: String?
  /// The types of events, or nil for all.
  package let type: EventPattern?
  /// The plugin that decided, failed, or had an effect, or nil for all.
  package let plugin: String?
  /// What was decided, or nil for anything.
  package let decision: Decision?
  /// Whether only entries with failures are wanted.
  package let failures: Bool
  /// When the entries begin, or nil for the first.
  package let since: Moment?
  /// When they end, or nil for the last.
  package let until: Moment?
  /// The sequence after which they begin.
  package let after: Int64
  /// The longest list wanted.
  package let limit: Int

  /// The longest list that one request gets.
  package static let mostEntries = 10_000

  /// A time as a client states it.
  package enum Moment: Sendable, Equatable {
    case at(Timestamp)
    /// So many microseconds ago, by the daemon's clock.
    case ago(Int64)

    /// The moment that `text` states: a duration or a time in RFC 3339; nil if it is neither.
    package init?(_ text: String) {
      if let time = Timestamp(rfc3339: text) {
        self = .at(time)
      } else if let duration = DurationText.parse(text, allowsZero: true) {
        self = .ago(duration)
      } else {
        return nil
      }
    }

    /// The moment, where it is `now`.
    package func timestamp(now: Timestamp) -> Timestamp {
      switch self {
      case .at(let time): time
      case .ago(let duration): Timestamp(microseconds: now.microseconds &- duration)
      }
    }
  }

  package struct Decision: Sendable, Equatable {
    package let key: String
    /// Its value: a string's text, or JSON; nil for any.
    package let value: String?

    /// The decision that `KEY` or `KEY=VALUE` states.
    package init(_ text: String) {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      key = String(parts[0])
      value = parts.count == 2 ? String(parts[1]) : nil
    }
  }

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = try reader.subject().map { String(decoding: $0, as: UTF8.self) }
    type = try Self.pattern(reader)
    plugin = try reader.string("plugin")
    decision = try reader.string("decision").map { Decision($0) }
    if decision?.key.isEmpty == true { throw reader.error("decision", "must be KEY or KEY=VALUE") }
    failures = try reader.boolean("failures") ?? false
    since = try Self.moment("since", reader)
    until = try Self.moment("until", reader)
    after = try reader.integer("after", in: 0...Int64.max) ?? 0
    limit = Int(try reader.integer("limit", in: 1...Int64(Self.mostEntries)) ?? 1_000)
  }

  private static func pattern(_ reader: ParamsReader) throws(RequestError) -> EventPattern? {
    guard let text = try reader.string("type") else { return nil }
    guard let pattern = EventPattern(text) else {
      throw reader.error("type", "must be a type of events, or one that ends in .*")
    }
    return pattern
  }

  private static func moment(_ name: StaticString, _ reader: ParamsReader) throws(RequestError) -> Moment? {
    guard let text = try reader.string(name) else { return nil }
    guard let moment = Moment(text) else {
      throw reader.error(name, "must be a duration like \"2h\", or a time in RFC 3339, like \"2025-11-10T12:34:56Z\"")
    }
    return moment
  }
}

/// What `explain_past` takes, and `state` with `at` or `version`: a subject and a moment of its past.
package struct PastParams: Sendable, Equatable {
  package let subject: String
  package let wanted: Wanted

  /// What is wanted of a subject's past.
  package enum Wanted: Sendable, Equatable {
    /// The state of one plugin or of all at a time.
    case stateAt(LogParams.Moment, plugin: String?)
    /// The state of one plugin or of all after the event that made this version.
    case stateOf(version: UInt64, plugin: String?)
    /// An event by its id, and beside it what other rules would have said, as `RulesSource.encoded` has them; with states and the values that rules read
    /// unless it `omitsValues`.
    case event(id: String, rules: JSONValue?, omitsValues: Bool)
  }

  /// Whether a request asks for a state of the past.
  package static func concerns(_ request: RequestView) -> Bool {
    request.method == .state && (request.params?.member("at") ?? request.params?.member("version")) != nil
  }

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = String(decoding: try reader.requiredSubject(), as: UTF8.self)
    guard request.method == .state else {
      wanted = .event(
        id: try reader.required("id"), rules: try Self.rules(reader),
        omitsValues: try reader.boolean("no_values") ?? false)
      return
    }
    let plugin = try reader.string("plugin")
    guard let text = try reader.string("at") else {
      let version = try reader.integer("version", in: 1...Int64.max)
      guard let version else { throw reader.error("version", "is required where there is no 'at'") }
      wanted = .stateOf(version: UInt64(version), plugin: plugin)
      return
    }
    guard !reader.has("version") else { throw reader.error("version", "goes without 'at'") }
    guard let moment = LogParams.Moment(text) else {
      throw reader.error("at", "must be a duration like \"2h\", or a time in RFC 3339, like \"2025-11-10T12:34:56Z\"")
    }
    wanted = .stateAt(moment, plugin: plugin)
  }

  private static func rules(_ reader: ParamsReader) throws(RequestError) -> JSONValue? {
    guard let value = reader.value("rules") else { return nil }
    guard value.isKind(.object) else { throw reader.error("rules", "must be the content of a rules folder") }
    return JSONValue(value)
  }
}

package struct BacktestParams: Sendable {
  /// The candidate's rules: `{library, plugins: [{name, modules, data}]}`.
  package let rules: JSONValue
  /// The plugins that are taken from these, or nil for all.
  package let plugins: [String]?
  /// When the range begins, or nil with the journal.
  package let since: LogParams.Moment?
  /// When it ends, or nil with the journal.
  package let until: LogParams.Moment?
  /// How the subjects begin.
  package let subjects: String
  /// The share of the subjects, as in `10%`.
  package let sample: String
  /// The conditions that fail it, as in `changed > 1%`.
  package let failOn: [String]
  /// Whether the report is wanted as a page, too.
  package let html: Bool

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    guard let rules = reader.value("rules"), rules.isKind(.object) else {
      throw reader.error("rules", "must be an object: {library, plugins: [{name, modules, data}]}")
    }
    self.rules = JSONValue(rules)
    plugins = try Self.texts("plugins", reader)
    since = try Self.moment("since", reader)
    until = try Self.moment("until", reader)
    subjects = try reader.string("subjects") ?? ""
    sample = try reader.string("sample") ?? "100%"
    failOn = try Self.texts("fail_on", reader) ?? []
    html = try reader.boolean("html") ?? false
  }

  private static func moment(
    _ name: StaticString, _ reader: ParamsReader
  ) throws(RequestError) -> LogParams.Moment? {
    guard let text = try reader.string(name) else { return nil }
    guard let moment = LogParams.Moment(text) else {
      throw reader.error(name, "must be a time in RFC 3339, or how long ago, such as \"7d\"")
    }
    return moment
  }

  private static func texts(_ name: StaticString, _ reader: ParamsReader) throws(RequestError) -> [String]? {
    guard let value = reader.value(name) else { return nil }
    let texts = value.children.compactMap(\.text)
    guard value.isKind(.array), texts.count == value.children.count else {
      throw reader.error(name, "must be a list of strings")
    }
    return texts
  }
}
