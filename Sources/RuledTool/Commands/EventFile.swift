internal import RuledCore
internal import RuledJSON
internal import RuledReports

/// Sends each line of a file as an event, with a bounded number in flight, and reports in the order of the lines.
struct EventFile {
  /// A line that was submitted and not reported yet.
  private struct PendingLine {
    var number: Int
    /// The id of its request; nil if it was refused without one.
    var id: Int64?
    var type: String
    var result: Result<JSONValue, DaemonError>?
  }

  private let client: Client
  private let input: Input
  private let arguments: Arguments
  private let environment: ToolEnvironment
  private let instructions: [JSONObject.Member]
  private let window: Int
  /// The time to which the daemon's manual clock was set, which follows the events; nil if it stays.
  private var clock: Timestamp?
  /// The file's name in errors.
  private let name: String
  /// The lines in flight, and those that were answered before an earlier one.
  private var pending: [PendingLine] = []
  private var summary: EventFileSummary
  private var progress: Progress

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    if let operand = arguments.operands.first {
      throw UsageError("--file takes the events from the file; leave out '\(operand)'")
    }
    if arguments.has("follow") {
      throw UsageError("--follow goes with one event; 'rulectl explain SUBJECT EVENT-ID' shows one of a file later")
    }
    for option in ["data", "id", "source", "time"] where arguments.has(option) {
      throw UsageError("--\(option) is for a single event; with --file, each line brings its own")
    }
    var sender = try EventFile(arguments, environment)
    return try sender.send()
  }

  private init(_ arguments: Arguments, _ environment: ToolEnvironment) throws {
    let file = arguments.value("file") ?? "-"
    window = try arguments.integer("window", in: 1...16_384) ?? 256
    input = try environment.open(file)
    client = try environment.connect()
    instructions = EventCommand.instructions(arguments)
    if arguments.has("follow-time") {
      guard !arguments.has("dry-run") else {
        throw UsageError("--follow-time moves the daemon's clock, which a dry run must not; leave one of them out")
      }
      clock = .minimum
    }
    name = file == "-" ? "standard input" : file
    summary = EventFileSummary(isDryRun: arguments.has("dry-run"))
    progress = Progress(environment)
    self.arguments = arguments
    self.environment = environment
  }

  private mutating func send() throws -> ExitCode {
    var number = 0
    do {
      while true {
        while !pending.isEmpty, !input.isReady { try receiveAndReport() }
        guard let text = try input.nextLine() else { break }
        number += 1
        if let clock, let time = Self.time(of: text), time > clock { try advance(to: time) }
        submit(text, number)
        while pending.count >= window { try receiveAndReport() }
      }
      while !pending.isEmpty { try receiveAndReport() }
    } catch {
      progress.clear()
      let unanswered = pending.first.map { "line \($0.number) and those after it are not answered; before them: " }
      environment.errors.write("\(unanswered ?? "")\(summary.text)\n")
      if !pending.isEmpty, client.isClosed, !summary.isDryRun {
        environment.errors.write(
          "it is not known which of those without an answer were applied; send them again: the daemon finds the first "
            + "outcome of each event that has an id of its own\n")
      }
      throw error
    }
    progress.clear()
    environment.errors.write(summary.text + "\n")
    return summary.refused > 0 ? .no : .done
  }

  private static func time(of line: [UInt8]) -> Timestamp? {
    line.withView { try? JSONValue(parsing: $0) }?["time"]?.stringValue.flatMap { Timestamp(rfc3339: $0) }
  }

  /// Sets the daemon's clock once all events before are answered; timers that fall due on the way fire before the reply.
  private mutating func advance(to time: Timestamp) throws {
    while !pending.isEmpty { try receiveAndReport() }
    guard try client.call("clock", ["set": .string(time.rfc3339)], unless: [.unknownMethod]) != nil else {
      throw ToolError("--follow-time needs a daemon whose clock is set by hand: start it with --clock manual")
    }
    clock = time
  }

  /// Queues a line.
  ///
  /// A line that is no event is refused here, a blank one is skipped.
  private mutating func submit(_ text: [UInt8], _ number: Int) {
    guard !Input.isBlank(text) else { return }
    var line = PendingLine(number: number, type: "event")
    switch text.withView({ bytes in Result { () throws(JSONError) in try JSONValue(parsing: bytes) } }) {
    case .success(.object(var event)):
      line.type = event["type"]?.brief ?? line.type
      for (name, value) in instructions { event[name] = value }
      line.id = instructions.isEmpty ? client.submit("event", utf8: text) : client.submit("event", .object(event))
    case .success:
      line.result = .failure(DaemonError(code: .invalidParams, "an event is a JSON object"))
    case .failure(let error):
      line.result = .failure(DaemonError(code: .parseError, "not JSON: \(error)"))
    }
    pending.append(line)
  }

  /// Waits for a reply unless the first line has its result, then reports the lines up to the first without a result.
  private mutating func receiveAndReport() throws {
    if pending.first?.result == nil, case .reply(let id, let result) = try client.receive(),
      let index = pending.firstIndex(where: { $0.id == id })
    {
      pending[index].result = result.mapError { $0.answering("event") }
    }
    let answered = pending.prefix { $0.result != nil }
    for line in answered {
      guard let result = line.result else { break }
      summary.add(result)
      print(result, of: line)
    }
    pending.removeFirst(answered.count)
    progress.show(share: input.share, count: summary.sent + summary.refused, "event")
  }

  /// Prints the daemon's answer to an event of a line: refusals always, outcomes where an option asks for them.
  private mutating func print(_ result: Result<JSONValue, DaemonError>, of line: PendingLine) {
    switch result {
    case .failure(let error):
      progress.clear()
      environment.errors.write(
        "\(name):\(line.number): \(error.code): \(error.lines.joined(separator: "; "))".printable + "\n")
      guard arguments.has("json") else { return }
      let refusal: JSONValue = ["line": .integer(Int64(line.number)), "error": error.json]
      environment.output.write(refusal.text + "\n")
    case .success(let outcome) where arguments.has("json"):
      progress.clear()
      environment.output.write(outcome.text + "\n")
    case .success(let outcome):
      guard arguments.has("explain") || arguments.has("show") else { return }
      progress.clear()
      let style = environment.style
      let what = OutcomeText(outcome, style: style).line
      environment.output.write(
        style.dim("\(line.number)") + "  \(line.type.printable)  \(outcome.word("subject").printable)"
          + "  \(what.isEmpty ? style.dim("-") : what)\n")
      if arguments.has("explain") { environment.output.write(TraceTree(outcome, style: style).text(type: line.type)) }
    }
  }
}

private struct EventFileSummary {
  let isDryRun: Bool
  /// Events that the daemon accepted.
  private(set) var sent = 0
  /// Sent events that it had accepted before.
  private(set) var duplicates = 0
  /// Duplicates whose type or data differ from those of the accepted event.
  private(set) var differences = 0
  /// Accepted events that a plugin failed on.
  private(set) var failed = 0
  /// Lines that are no event, and events that the daemon refused.
  private(set) var refused = 0

  mutating func add(_ result: Result<JSONValue, DaemonError>) {
    guard case .success(let outcome) = result else {
      refused += 1
      return
    }
    sent += 1
    if outcome.member("duplicate")?.boolValue ?? false { duplicates += 1 }
    if outcome.member("differs")?.boolValue ?? false { differences += 1 }
    if !outcome.elements("failures").isEmpty { failed += 1 }
  }

  var text: String {
    let differing = differences > 0 ? " (\(Figures.count(differences)) with other data)" : ""
    return "\(isDryRun ? "evaluated" : "sent") \(Figures.count(sent, "event")): "
      + "\(Figures.count(duplicates, "duplicate"))\(differing), "
      + "\(Figures.count(failed)) with failures; \(Figures.count(refused)) refused"
  }
}
