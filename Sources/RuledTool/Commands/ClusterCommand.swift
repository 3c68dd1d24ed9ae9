internal import Glibc
internal import RuledCore
internal import RuledReports

enum ClusterCommand: Command {
  static let spec = CommandSpec(
    "cluster", "Shows the nodes of a cluster, or has one give the log of commits up.",
    synopsis: ["", "drain NODE [--force]", "undrain NODE"],
    optional: 2, completes: .words(["drain", "undrain"]),
    options: [
      OptionSpec("force", "With 'drain': also if no other node follows closely, so that nobody may serve afterwards."),
      .json,
    ],
    details: """
      'drain' has NODE give the log up in order, and not take it again until 'undrain': before work on its host. If it
      owns the log, another node takes over at once; this command shows who. Any node answers, whoever owns the log.
      The exit code of 'cluster' is 1 while no node owns the log.
      """,
    examples: [
      .init("rulectl cluster", "nodes, log and database"),
      .init("rulectl cluster drain a && apt-get upgrade", "before the host of node a is changed"),
    ])

  /// How many seconds another node may take to own the log after 'drain'.
  private static let timeout = 60

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let words = arguments.operands
    if words.first != "drain", arguments.has("force") {
      throw UsageError("--force belongs to 'rulectl cluster drain NODE'")
    }
    guard let action = words.first else {
      let result = try environment.connect().call("cluster", [:])
      environment.show(result, arguments) { text($0, environment.style) }
      return result.member("owner")?.stringValue == nil ? .no : .done
    }
    guard ["drain", "undrain"].contains(action) else {
      throw UsageError("there is no 'cluster \(action)'; write drain or undrain")
    }
    guard words.count == 2 else { throw UsageError("name the node: rulectl cluster \(action) NODE") }
    if action == "undrain" {
      return try environment.answer("cluster_undrain", ["node": .string(words[1])], arguments) { _ in
        "node \(words[1].printable) may own the log again\n"
      }
    }
    return try drain(words[1], arguments, environment)
  }

  private static func drain(_ node: String, _ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let isQuiet = arguments.has("json")
    var result = try environment.connect().call(
      "cluster_drain", ["node": .string(node), "force": .bool(arguments.has("force"))])
    if owner(result) == node {
      if !isQuiet {
        environment.output.write("node \(node.printable) is drained; it owns the log and gives it up\n")
        environment.output.flush()
      }
      guard let later = awaitOwner(other: node, environment) else {
        let reason =
          "no other node owns the log after \(timeout) s; 'rulectl cluster' shows the nodes, 'undrain' takes it back"
        throw ToolError(reason, exit: .no)
      }
      result = later
    } else if !isQuiet {
      environment.output.write("node \(node.printable) is drained; it follows, and does not take the log over\n")
    }
    environment.show(result, arguments) { result in
      let epoch = result.member("log")?.member("epoch")?.brief.printable ?? "?"
      return owner(result).map { "node \($0.printable) owns the log, epoch \(epoch)\n" } ?? "no node owns the log\n"
    }
    return owner(result) == nil ? .no : .done
  }

  /// Asks until a node other than `node` owns the log; nil after the time-out.
  ///
  /// The connection to the node that gives the log up breaks meanwhile.
  private static func awaitOwner(other node: String, _ environment: ToolEnvironment) -> JSONValue? {
    for _ in 0..<(timeout * 10) {
      usleep(100_000)
      guard let result = try? environment.connect().call("cluster", [:]), let found = owner(result), found != node
      else { continue }
      return result
    }
    return nil
  }

  private static func owner(_ result: JSONValue) -> String? { result.member("owner")?.stringValue }

  // MARK: Text

  private static func text(_ result: JSONValue, _ style: Style) -> String {
    let nodes = result.elements("nodes")
    var text = Table([
      "node", "role", ">lease", ">sequence", ">behind", "version", "process", "address",
    ]).rows(nodes) { node in
      let isGone = node.member("role")?.stringValue == "gone"
      let role = node.word("role") + (node.member("drained")?.boolValue == true ? ", drained" : "")
      return [
        node.word("name"), role,
        isGone ? "over" : Figures.micros(Double(node.count("lease_left_ms") * 1000)), "\(node.count("sequence"))",
        "\(node.count("behind"))", node.word("version", else: ""),
        String(node.word("process", else: "").prefix(8)), node.word("address", else: ""),
      ]
    }.text(style)
    for node in nodes {
      guard let problem = node.member("problem")?.stringValue else { continue }
      text += style.red("\(node.word("name")) ended: \(problem)".printable) + "\n"
    }
    if owner(result) == nil { text += style.red("no node owns the log: nobody serves") + "\n" }
    if let log = result.member("log") {
      text +=
        "\nlog       epoch \(log.count("epoch")), sequence \(log.count("sequence")), \(Figures.bytes(log.count("bytes")))\n"
    }
    if let found = result.member("database") { text += database(found, style) }
    return text
  }

  private static func database(_ database: JSONValue, _ style: Style) -> String {
    func word(_ name: String) -> String { database.word(name).printable }
    var text = "database  primary at \(word("primary")), PostgreSQL \(word("version"))\n"
    for standby in database.elements("standbys") {
      let words = ["name", "address", "state", "sync"].compactMap { standby.member($0)?.stringValue }.filter {
        !$0.isEmpty
      }
      text +=
        "standby   \(words.isEmpty ? "of which this node may see nothing" : words.joined(separator: ", ").printable)\n"
    }
    if let problem = database.member("problem")?.stringValue {
      text += "promise   \(style.red(problem.printable))\n"
    } else {
      text += "promise   \(word("promise"))\n"
    }
    return text
  }
}
