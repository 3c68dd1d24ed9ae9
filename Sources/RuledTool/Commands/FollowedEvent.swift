internal import RuledCore
internal import RuledReports

/// An event with all events that followed from it: its messages and timers, theirs in turn; or those that would follow from a dry run.
struct FollowedEvent {
  /// How many events are followed; a cascade may have more.
  static let most = 1000

  /// The announcement in the trace of its cause: `kind`, `id`, `type`, `subject`, and `due` of a timer.
  let announced: JSONValue
  /// The answer of `explain_past`, for a dry run its known parts; nil if it has not happened.
  let past: JSONValue?
  let children: [FollowedEvent]
  /// Whether it belongs to a dry run, so that nothing of it ever happens.
  var isDry = false

  /// An event with the outcome of its dry run, below it the messages that it would send and the timers that it would set.
  static func dryRun(_ event: JSONObject, outcome: JSONValue) -> FollowedEvent {
    let subject = outcome.member("subject") ?? .null
    return FollowedEvent(
      announced: ["kind": "event", "id": outcome.member("id") ?? .null, "subject": subject],
      past: ["subject": subject, "event": .object(event), "outcome": outcome],
      children: outcome.elements("trace").flatMap { $0.elements("follows") }.map {
        FollowedEvent(announced: $0, past: nil, children: [], isDry: true)
      }, isDry: true)
  }

  /// Asks the daemon for an event and those that followed.
  ///
  /// - Throws: The failure to get the first event. That a later one has not happened is no error.
  static func follow(subject: String, id: String, on client: Client) throws -> FollowedEvent {
    var remaining = most
    let past = try client.call("explain_past", params(subject, id))
    return FollowedEvent(
      announced: ["kind": "event", "id": .string(id), "subject": .string(subject)], past: past,
      children: try children(of: past, &remaining, on: client))
  }

  private static func params(_ subject: String, _ id: String) -> JSONValue {
    ["subject": .string(subject), "id": .string(id)]
  }

  private static func children(
    of past: JSONValue, _ remaining: inout Int, on client: Client
  ) throws -> [FollowedEvent] {
    var found: [FollowedEvent] = []
    for entry in past.member("outcome")?.elements("trace") ?? [] {
      for announced in entry.elements("follows") {
        guard remaining > 0, let id = announced.member("id")?.stringValue,
          let subject = announced.member("subject")?.stringValue
        else { continue }
        remaining -= 1
        let past = try client.call("explain_past", params(subject, id), unless: [.notFound])
        let followed = try past.map { try children(of: $0, &remaining, on: client) } ?? []
        found.append(FollowedEvent(announced: announced, past: past, children: followed))
      }
    }
    return found
  }

  /// The event as JSON: the answer of `explain_past`, with `followed`, the same of each event that followed.
  var json: JSONValue {
    var object = (past ?? announced).objectValue ?? [:]
    object["followed"] = .array(children.map(\.json))
    return .object(object)
  }

  // MARK: Drawing

  /// The event as a tree, with times since `start`.
  ///
  /// With `all`, the rules that listen to other types are listed.
  func node(_ style: Style, all: Bool, since start: Timestamp? = nil) -> TreeNode {
    let kind = announced.member("kind")?.stringValue ?? "event"
    let subject = style.bold(announced.word("subject").printable)
    guard let past else {
      let type = announced.word("type").printable
      let due = announced.member("due").map { "\(isDry ? "would be" : "is") due at \($0.brief)" }
      let missing = isDry ? "would be sent" : "is not applied yet"
      return TreeNode("\(kind) \(style.bold(type))  \(subject)  \(style.yellow(due ?? missing))")
    }
    let type = past.member("event")?.member("type")?.brief ?? "?"
    let at = past.member("at")?.stringValue.flatMap { Timestamp(rfc3339: $0) }
    var time = isDry ? "dry run, nothing is stored" : past.word("at")
    if let at, let start { time = "+\(Figures.micros(Double(at.microseconds - start.microseconds)))" }
    let outcome = past.member("outcome") ?? .null
    var followed: [String: TreeNode] = [:]
    for child in children {
      followed[child.announced.member("id")?.stringValue ?? ""] = child.node(style, all: all, since: start ?? at)
    }
    let tree = TraceTree(outcome, style: style, all: all, followed: followed).nodes(type: type)
    let line = OutcomeText(outcome, style: style).line
    return TreeNode(
      "\(kind) \(style.bold(type.printable))  \(subject)  \(style.dim(time))" + (line.isEmpty ? "" : "  \(line)"),
      tree.count == 1 ? tree[0].children : tree)
  }
}
