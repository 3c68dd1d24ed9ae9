package import RuledCore

/// The params of `effect`, `resend` and `drop_effects`: a selection of undelivered effects.
package enum EffectSelection: Sendable, Equatable {
  /// The effects with this id; of this subject, if one is given.
  case id(String, subject: String?)
  /// The effects with these keys, which `effects` lists.
  case keys([String])
  /// All effects of a sink that were given up.
  case failed(sink: String)

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    switch (reader.has("id"), reader.has("keys"), reader.has("sink")) {
    case (true, false, false):
      let subject = try reader.subjectText()
      self = .id(try reader.required("id"), subject: subject)
    case (false, true, false):
      let keys = try reader.strings("keys") ?? []
      guard (1...Limits.listMaximum).contains(keys.count) else {
        throw reader.error("keys", "must have 1 to \(Limits.listMaximum) elements")
      }
      self = .keys(keys)
    case (false, false, true):
      let sink = try reader.required("sink")
      guard try reader.string("status") == EffectStatus.failed.rawValue else {
        throw reader.error("status", "must be \"failed\" with a sink")
      }
      self = .failed(sink: sink)
    case (false, false, false): throw reader.error("id", "or params.keys or params.sink is required")
    default: throw reader.error("id", "only one of id, keys and sink")
    }
  }
}
