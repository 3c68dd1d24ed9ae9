package import RuledCore

/// The params of `confirm`: the results of leased effects.
package struct ConfirmParams: Sendable, Equatable {
  package struct Result: Sendable, Equatable {
    package let lease: String
    package let outcome: Outcome
  }

  package enum Outcome: Sendable, Equatable {
    case delivered
    /// The effect is to be tried again, after so many seconds at least; `holds` if the sink's other effects are to wait as well.
    case failed(Detail, retryAfter: Int, holds: Bool)
    /// The receiver will never take the effect.
    case givenUp(Detail)
  }

  package struct Detail: Sendable, Equatable {
    /// One sentence.
    package let error: String
    /// The status of the receiver's answer, if there was one.
    package let status: Int?
    /// The beginning of the receiver's answer, if there was one.
    package let body: String?
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
    let detail = Detail(
      error: try reader.string("error") ?? "the client gave no reason", status: status.map { Int($0) },
      body: try reader.string("body"))
    switch name {
    case "retry":
      let seconds = try reader.integer("retry_after_s", in: 0...86_400) ?? 0
      return Result(
        lease: lease,
        outcome: .failed(detail, retryAfter: Int(seconds), holds: try reader.boolean("hold") ?? false))
    case "give_up": return Result(lease: lease, outcome: .givenUp(detail))
    default: throw reader.error("result", "must be \"delivered\", \"retry\" or \"give_up\"")
    }
  }
}
