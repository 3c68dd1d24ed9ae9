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

package struct LeaseParams: Sendable, Equatable {
  package let sinks: [String]
  package let limit: Int
  package let seconds: Int
  /// How many seconds the reply may wait for a first effect.
  package let wait: Int

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    if reader.has("sinks") {
      guard !reader.has("sink") else { throw reader.error("sink", "excludes sinks") }
      var known: Set<String> = []
      sinks = (try reader.strings("sinks") ?? []).filter { known.insert($0).inserted }
      guard !sinks.isEmpty else { throw reader.error("sinks", "must not be empty") }
    } else {
      sinks = [try reader.required("sink")]
    }
    limit = try reader.limit()
    seconds = Int(try reader.integer("seconds", in: 1...Limits.leaseSeconds) ?? Limits.leaseDefaultSeconds)
    wait = Int(try reader.integer("wait", in: 0...Limits.leaseWaitSeconds) ?? 0)
  }
}

/// The params of `confirm`: the results of leased effects.
package struct ConfirmParams: Sendable, Equatable {
  package struct Result: Sendable, Equatable {
    package let lease: String
    package let outcome: DeliveryResult
  }

  package let results: [Result]

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    guard let list = reader.value("leases"), list.kind == .array else {
      throw reader.error("leases", "must be an array of {lease, result}")
    }
    var results: [Result] = []
    for element in list.children {
      let path = "params.leases[\(results.count)]"
      guard results.count < Limits.listMaximum else {
        throw reader.error("leases", "must have \(Limits.listMaximum) elements at most")
      }
      results.append(try Self.read(ParamsReader(element, at: path, known: Self.members)))
    }
    self.results = results
  }

  private static let members: [StaticString] = ["lease", "result", "error", "status", "body", "retry_after_s", "hold"]

  private static func read(_ reader: ParamsReader) throws(RequestError) -> Result {
    let lease = try reader.required("lease")
    let name = try reader.required("result")
    if name == "delivered" { return Result(lease: lease, outcome: .delivered) }
    let status = try reader.integer("status", in: 100...999)
    let failure = DeliveryFailure(
      reason: (try reader.string("error") ?? "the client gave no reason").prefix(bytes: DeliveryFailure.reasonBytes),
      status: status.map { Int($0) }, body: try reader.string("body")?.prefix(bytes: Limits.answerBytes))
    switch name {
    case "retry":
      let seconds = UInt64(try reader.integer("retry_after_s", in: 0...86_400) ?? 0)
      let pause: DeliveryResult.Pause = try reader.boolean("hold") == true ? .atOnce : .afterSeveral
      return Result(lease: lease, outcome: .failed(failure, atLeast: seconds * 1_000, pause))
    case "give_up": return Result(lease: lease, outcome: .givenUp(failure))
    default: throw reader.error("result", "must be \"delivered\", \"retry\" or \"give_up\"")
    }
  }
}
