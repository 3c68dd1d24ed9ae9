internal import RuledCore
internal import RuledJSON

/// Sends each line of a file as an event, a bounded number at a time, and reports in the order of the lines.
struct EventFile {
  /// A line on its way, or answered and waiting for those before it.
  private struct Slot {
    var line: Int
    var type: String
    var result: Result<JSONValue, DaemonError>?
  }

  private let client: Client
  private let input: Input
  private let environment: ToolEnvironment
  private let instructions: [JSONObject.Member]
  private let window: Int
  private let report: EventFileReport
  private var slots: [Slot] = []
  /// How many lines were reported and taken out of `slots`.
  private var settled = 0
  /// Which line, counted like `settled`, waits for which reply.
  private var waiting: [Int64: Int] = [:]
  private var summary: EventFileSummary
  private var progress: Progress

  /// Sends the file that `arguments` name.
  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    if let operand = arguments.operands.first {
      throw ToolError("--file takes the events from the file; leave out '\(operand)'")
    }
    for option in ["data", "id", "source", "time"] where arguments.has(option) {
      throw ToolError("--\(option) is for a single event; with --file, each line brings its own")
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
    report = EventFileReport(file: file, arguments, environment)
    summary = EventFileSummary(isDryRun: arguments.has("dry-run"))
    progress = Progress(environment, total: input.size, unit: "event")
    self.environment = environment
  }

  private mutating func send() throws -> ExitCode {
    var line = 0
    do {
      while true {
        while !slots.isEmpty, !input.isReady { try settle() }
        guard let text = try input.nextLine() else { break }
        line += 1
        submit(text, line)
        while slots.count >= window { try settle() }
      }
      while !slots.isEmpty { try settle() }
    } catch {
      progress.clear()
      let open = slots.first.map { "line \($0.line) and those after it are not answered" } ?? "no line is left open"
      environment.errors.write("\(open); before them: \(summary.text)\n")
      throw error
    }
    progress.clear()
    environment.errors.write(summary.text + "\n")
    return summary.refused > 0 ? .no : .done
  }

  /// Queues a line; one that is no event is refused in its turn, a blank one is passed over.
  private mutating func submit(_ text: [UInt8], _ line: Int) {
    guard text.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return }
    var slot = Slot(line: line, type: "event", result: nil)
    switch text.withUnsafeBytes({ bytes in Result { () throws(JSONError) in try JSONValue(parsing: bytes) } }) {
    case .success(.object(var event)):
      slot.type = event["type"]?.brief ?? slot.type
      for (name, value) in instructions { event[name] = value }
      let id = instructions.isEmpty ? client.submit("event", utf8: text) : client.submit("event", .object(event))
      waiting[id] = settled + slots.count
    case .success:
      slot.result = .failure(DaemonError(code: .invalidParams, "an event is a JSON object"))
    case .failure(let error):
      slot.result = .failure(DaemonError(code: .parseError, "not JSON: \(error)"))
    }
    slots.append(slot)
  }

  /// Waits for a reply unless the first line has its own, then reports the lines that are answered.
  private mutating func settle() throws {
    if slots.first?.result == nil, case .reply(let id, let result) = try client.receive(),
      let position = waiting.removeValue(forKey: id)
    {
      slots[position - settled].result = result
    }
    let answered = slots.prefix { $0.result != nil }
    for slot in answered {
      guard let result = slot.result else { break }
      summary.add(result)
      if report.isSpoken(result) { progress.clear() }
      report.write(slot.line, slot.type, result)
    }
    slots.removeFirst(answered.count)
    settled += answered.count
    progress.show(done: summary.sent + summary.refused, bytes: input.consumed)
  }
}
