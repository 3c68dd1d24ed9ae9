package import RuledCore

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
