package import RuledCore

package struct DeliveryFailure: Sendable, Equatable {
  /// One sentence, without data.
  package var reason: String
  /// The status that the receiver answered, if it did.
  package var status: Int?
  /// The beginning of the receiver's answer, without the sink's secret.
  package var body: String?

  /// The longest reason of a client, in bytes.
  static let reasonBytes = 1_000

  package init(reason: String, status: Int? = nil, body: String? = nil) {
    self.reason = reason
    self.status = status
    self.body = body
  }
}

package enum DeliveryResult: Sendable, Equatable {
  /// Which other effects wait after a failure.
  package enum Pause: Sendable {
    /// After three failures in a row, all of the plugin for the sink.
    case afterSeveral
    /// All of the plugin for the sink.
    case atOnce
  }

  case delivered
  /// The effect is to be tried again, after so many milliseconds at least.
  case failed(DeliveryFailure, atLeast: UInt64, Pause)
  /// The receiver will never take the effect.
  case givenUp(DeliveryFailure)

  /// The result as `confirm` takes it.
  package func json(lease: String) -> JSONValue {
    switch self {
    case .delivered: ["lease": .string(lease), "result": "delivered"]
    case .failed(let failure, let wait, let pause):
      .members([
        "lease": .string(lease), "result": "retry", "retry_after_s": .integer(Int64(wait / 1_000)),
        "hold": .bool(pause == .atOnce), "error": .string(failure.reason),
        "status": failure.status.map { .integer(Int64($0)) }, "body": failure.body.map(JSONValue.string),
      ])
    case .givenUp(let failure):
      .members([
        "lease": .string(lease), "result": "give_up", "error": .string(failure.reason),
        "status": failure.status.map { .integer(Int64($0)) }, "body": failure.body.map(JSONValue.string),
      ])
    }
  }
}

extension String {
  /// The beginning of the text, so many bytes at most, with whole characters only.
  func prefix(bytes count: Int) -> String {
    guard utf8.count > count else { return self }
    var end = utf8.index(startIndex, offsetBy: count)
    while end > startIndex, String.Index(end, within: self) == nil { end = utf8.index(before: end) }
    return String(self[..<end])
  }
}
