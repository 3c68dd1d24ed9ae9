import RuledCluster
import RuledCore
import RuledJSON

extension StandbyServer {
  /// The error for a request that only the owner can answer.
  var refusal: RequestError {
    let (name, figures) = (membership.node.identity.name, membership.node.figures)
    guard let owner = figures.owner, owner.name != name else {
      return RequestError(
        .unavailable, "node \(name) does not own the log of commits, nor does it know who does: try again",
        details: [.init("node", .string(name)), .init("owner", .null), .init("retry_after_ms", 1000)])
    }
    if let problem = route?.problem {
      return RequestError(
        .unavailable, "node \(name) follows the log of commits, and \(problem); try again",
        details: [
          .init("node", .string(name)), .init("owner", .string(owner.name)),
          .init("owner_address", .string(owner.address)), .init("retry_after_ms", 1000),
        ])
    }
    return RequestError(
      .unavailable,
      "node \(name) follows the log of commits, node \(owner.name) owns it: ask that one\(Self.addressSuffix(owner))",
      details: [
        .init("node", .string(name)), .init("owner", .string(owner.name)),
        .init("owner_address", .string(owner.address)),
      ])
  }

  private static func addressSuffix(_ owner: NodeIdentity) -> String {
    owner.address.isEmpty ? "" : ", at \(owner.address)"
  }

  var health: JSONValue {
    let (node, figures) = (membership.node, membership.node.figures)
    let position = node.position.sequence
    let problems = problems
    return .object([
      "status": .string(ownProblems.isEmpty ? "standby" : "degraded"),
      "store": .string("postgresql"),
      "node": .string(node.identity.name),
      "owner": figures.owner.map { .string($0.name) } ?? .null,
      "owner_address": figures.owner.map { .string($0.address) } ?? .null,
      "epoch": .integer(figures.epoch),
      "sequence": .integer(position),
      "behind": .integer(max(0, figures.end - position)),
      "owner_reachable": .bool(reachesOwner),
      "problems": .array(problems.map { .string($0) }),
    ])
  }

  /// Whether clients of this node get to the owner.
  var reachesOwner: Bool { route.map { $0.problem == nil } ?? false }

  /// The node's problems, and why it does not reach the owner, a sentence each.
  var problems: [String] { ownProblems + [route?.problem].compactMap { $0 } }

  private var ownProblems: [String] {
    membership.problems.map(\.description) + [configurationError, sockets.token?.problem].compactMap { $0 }
      + (journal.map { $0.problems + $0.damages } ?? [])
  }
}
