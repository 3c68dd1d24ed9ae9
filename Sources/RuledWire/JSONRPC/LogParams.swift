package import RuledCore
import RuledJSON

/// The params of `log`: a selection of the journal's entries.
package struct LogParams: Sendable, Equatable {
  /// The subject, or nil for all.
  package let subject: String?
  /// The types of events, or nil for all.
  package let type: EventPattern?
  /// The plugin that decided, failed, or had an effect, or nil for all.
  package let plugin: String?
  /// The decision, or nil for any.
  package let decision: Decision?
  /// Whether only entries with failures are wanted.
  package let failures: Bool
  /// When the entries begin, or nil for the first.
  package let since: Moment?
  /// When they end, or nil for the last.
  package let until: Moment?
  /// The sequence after which they begin.
  package let after: Int64
  package let limit: Int

  /// The longest list that one request gets.
  static let mostEntries = 10_000

  /// A time as a client states it.
  package enum Moment: Sendable, Equatable {
    case at(Timestamp)
    /// So many microseconds ago, by the daemon's clock.
    case ago(Int64)

    /// The moment that `text` states: a duration or a time in RFC 3339; nil if it is neither.
    init?(_ text: String) {
      if let time = Timestamp(rfc3339: text) {
        self = .at(time)
      } else if let duration = DurationText.parse(text, allowsZero: true) {
        self = .ago(duration)
      } else {
        return nil
      }
    }

    package func timestamp(now: Timestamp) -> Timestamp {
      switch self {
      case .at(let time): time
      case .ago(let duration): Timestamp(microseconds: now.microseconds &- duration)
      }
    }
  }

  package struct Decision: Sendable, Equatable {
    package let key: String
    /// Its values, one of which is wanted: the text, and what it is as JSON; nil for any.
    package let values: [JSONValue]?

    /// The decision that `KEY` or `KEY=VALUE` states.
    init(_ text: String) {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      key = String(parts[0])
      values = parts.dropFirst().first.map { (part) -> [JSONValue] in
        let text = String(part)
        return [.string(text)] + ((try? JSONValue(parsing: text)).map { [$0] } ?? [])
      }
    }
  }

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = try reader.subjectText()
    type = try reader.parsed("type", "a type of events, or one that ends in .*") { EventPattern($0) }
    plugin = try reader.string("plugin")
    decision = try reader.string("decision").map { Decision($0) }
    if decision?.key.isEmpty == true { throw reader.error("decision", "must be KEY or KEY=VALUE") }
    failures = try reader.boolean("failures") ?? false
    since = try reader.moment("since")
    until = try reader.moment("until")
    after = try reader.integer("after", in: 0...Int64.max) ?? 0
    limit = Int(try reader.integer("limit", in: 1...Int64(Self.mostEntries)) ?? 1_000)
  }
}

/// The params of `explain_past`, and of `state` with `at` or `version`: a subject and a moment of its past.
package struct PastParams: Sendable {
  package let subject: String
  package let wanted: Wanted

  package enum Wanted: Sendable {
    /// The state of one plugin or of all at a time.
    case stateAt(LogParams.Moment, plugin: String?)
    /// The state of one plugin or of all after the event that made this version.
    case stateOf(version: UInt64, plugin: String?)
    /// An event by its id, and beside it the outcome under other rules; with states and the values that rules read unless it `omitsValues`.
    case event(id: String, rules: RequestRules?, omitsValues: Bool)
  }

  /// Whether a request asks for a state of the past.
  package static func concerns(_ request: RequestView) -> Bool {
    request.method == .state && (request.params?.member("at") ?? request.params?.member("version")) != nil
  }

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = try reader.requiredSubjectText()
    guard request.method == .state else {
      wanted = .event(
        id: try reader.required("id"), rules: reader.has("rules") ? try reader.rules() : nil,
        omitsValues: try reader.boolean("no_values") ?? false)
      return
    }
    let plugin = try reader.string("plugin")
    guard let moment = try reader.moment("at") else {
      let version = try reader.integer("version", in: 1...Int64.max)
      guard let version else { throw reader.error("version", "is required where there is no 'at'") }
      wanted = .stateOf(version: UInt64(version), plugin: plugin)
      return
    }
    guard !reader.has("version") else { throw reader.error("version", "goes without 'at'") }
    wanted = .stateAt(moment, plugin: plugin)
  }
}
