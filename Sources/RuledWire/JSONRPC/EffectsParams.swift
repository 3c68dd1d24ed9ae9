package import RuledCore

// The params of the methods about undelivered effects.

package enum EffectStatus: String, Sendable {
  /// It waits for its next try, or for its turn.
  case waiting
  /// It was given up, and is tried again on request, or at the next start or reload.
  case failed
}

/// The params of `effects`: a selection of undelivered effects.
package struct EffectsParams: Sendable, Equatable {
  /// The sink, or nil for all.
  package var sink: String?
  /// The plugin, or nil for all.
  package var plugin: String?
  /// The subject, or nil for all.
  package var subject: String?
  /// The effects' type, or nil for all.
  package var type: String?
  /// Only those that wait, or only those that were given up; nil for both.
  package var status: EffectStatus?
  package var withData = false
  /// The key of the effect after which the list begins, or nil for the first.
  package var after: String?
  package var limit = Limits.listDefault

  init() {}

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    sink = try reader.string("sink")
    plugin = try reader.string("plugin")
    subject = try reader.subjectText()
    type = try reader.string("type")
    status = try reader.parsed("status", "\"waiting\" or \"failed\"") { EffectStatus(rawValue: $0) }
    withData = try reader.boolean("data") ?? false
    after = try reader.string("after")
    limit = try reader.limit()
  }
}
