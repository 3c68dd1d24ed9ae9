internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// What a captured test does, step by step.
struct CapturedTest {
  /// One step.
  enum Step {
    /// Sets the clock.
    case at(Timestamp)
    /// Gives a subject a version and states.
    case given(String, version: Int64, states: JSONObject)
    /// Sends an event; its decisions must be these, where they are known.
    case event(JSONObject, decisions: JSONValue?)
    /// A line for the reader.
    case note(String)
  }

  /// The test's name.
  var name: String
  /// The steps in order.
  var steps: [Step] = []

  /// Plays the steps with rules, without their configuration, and replaces decisions that do not come out again with a note.
  mutating func keepOnlyWhatHolds(under catalog: Catalog) throws(RequestError) {
    let decided = try decisions(under: catalog)
    var kept: [Step] = []
    for (step, got) in zip(steps, decided) {
      guard case .event(let event, let wanted?) = step, got != wanted else {
        kept.append(step)
        continue
      }
      kept.append(.event(event, decisions: nil))
      kept.append(
        .note("recorded: \(wanted.text); in a test, with the plugins' own settings, the rules decide otherwise"))
    }
    steps = kept
  }

  /// Replaces all expected decisions with those that come out now, as the events have been changed.
  mutating func expectWhatComesOut(under catalog: Catalog) throws(RequestError) {
    for (index, got) in try decisions(under: catalog).enumerated() {
      if case .event(let event, .some) = steps[index] { steps[index] = .event(event, decisions: got ?? [:]) }
    }
  }

  /// What each step decides; nil for those that are no events.
  private func decisions(under catalog: Catalog) throws(RequestError) -> [JSONValue?] {
    let engine = try LocalEngine(catalog: catalog, lua: LuaWorker())
    var decided: [JSONValue?] = []
    for step in steps {
      switch step {
      case .at(let time): try engine.set(time)
      case .given(let subject, let version, let states):
        try engine.give(subject, version: UInt64(version), states: states)
      case .event(let event, _):
        decided.append(try engine.event(.object(event))["decisions"] ?? [:])
        continue
      case .note: break
      }
      decided.append(nil)
    }
    return decided
  }

  /// The test file.
  func text(about lines: [String]) -> String {
    var text = lines.map { "-- \($0)\n" }.joined()
    text += "test \(LuaText.string(name)) (function(t)\n  local outcome\n"
    for step in steps {
      switch step {
      case .at(let time): text += "  t:at(\(Self.seconds(time)))  -- \(time.rfc3339)\n"
      case .given(let subject, let version, let states):
        text += "  t:given(\(LuaText.string(subject)), \(version), \(LuaText.value(.object(states))))\n"
      case .note(let note): text += "  -- \(note.split(separator: "\n").joined(separator: " "))\n"
      case .event(var event, let decisions):
        let type = event["type"]?.stringValue ?? "", subject = event["subject"]?.stringValue ?? ""
        let data = event["data"] ?? [:]
        for member in ["type", "subject", "data"] { event[member] = nil }
        text += "  outcome = t:event(\(LuaText.string(subject)), \(LuaText.string(type)), \(LuaText.value(data)), "
        text += "\(LuaText.value(.object(event))))\n"
        if let decisions { text += "  t:equal(outcome.all, \(LuaText.value(decisions)))\n" }
      }
    }
    return text + "end)\n"
  }

  private static func seconds(_ time: Timestamp) -> String {
    let (seconds, micros) = time.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    guard micros > 0 else { return "\(seconds)" }
    let digits = String(micros)
    return "\(seconds).\(String(repeating: "0", count: 6 - digits.count))\(digits)"
  }
}
