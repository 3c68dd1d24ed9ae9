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
    /// Configures settings of a plugin.
    case settings(String, JSONObject)
    /// Sends an event; its decisions must be these, where they are known.
    case event(JSONObject, decisions: JSONValue?)
    /// The last event of a subject, such as a message or a timer, must have made these decisions.
    case decided(String, JSONValue)
    /// A line for the reader.
    case note(String)
  }

  /// The test's name.
  var name: String
  /// The steps in order.
  var steps: [Step] = []

  /// Plays the steps, and replaces decisions that do not come out again with a note.
  mutating func keepOnlyWhatHolds(under catalog: Catalog) throws(RequestError) {
    let decided = try decisions(under: catalog)
    var kept: [Step] = []
    for (step, got) in zip(steps, decided) {
      switch step {
      case .event(let event, let wanted?) where got != wanted:
        kept += [.event(event, decisions: nil), Self.differs(wanted)]
      case .decided(_, let wanted) where got != wanted: kept.append(Self.differs(wanted))
      default: kept.append(step)
      }
    }
    steps = kept
  }

  private static func differs(_ recorded: JSONValue) -> Step {
    .note("recorded: \(recorded.text); played as a test, the rules decide otherwise")
  }

  /// Replaces all expected decisions with those that come out now, as the events have been changed.
  mutating func expectWhatComesOut(under catalog: Catalog) throws(RequestError) {
    let decided = try decisions(under: catalog)
    steps = zip(steps, decided).compactMap { step, got in
      switch step {
      case .event(let event, .some): .event(event, decisions: got ?? [:])
      case .decided(let subject, _): got == [:] ? nil : .decided(subject, got ?? [:])
      default: step
      }
    }
  }

  /// What each step decides; nil for those that decide nothing.
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
      case .decided(let subject, _):
        decided.append(engine.decided(of: subject) ?? [:])
        continue
      case .note, .settings: break
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
      case .at(let time): text += "  t:at(\(LuaText.string(time.exactRFC3339)))\n"
      case .settings(let plugin, let values):
        text += "  t:settings(\(LuaText.value(.object(values))), \(LuaText.string(plugin)))\n"
      case .decided(let subject, let decisions):
        text += "  t:equal(t:decided(\(LuaText.string(subject))), \(LuaText.value(decisions)))\n"
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
}
