internal import RuledCore
internal import RuledEngine
internal import RuledLua

struct CapturedTest {
  enum Step {
    case at(Timestamp)
    /// Gives a subject a version and states, and timers, `once` keys and topics as `export` shows them.
    case given(String, version: Int64, states: JSONObject, items: JSONObject)
    case settings(String, JSONObject)
    /// Sends an event; its decisions must be these, where they are known.
    case event(JSONObject, decisions: JSONValue?)
    /// The last event of a subject, such as a message or a timer, must have made these decisions.
    case decided(String, JSONValue)
    /// A subject's effects from one on must be these, without ids.
    case effects(String, from: Int, [JSONValue])
    /// A plugin fails on the next event of a subject, whatever its rules say.
    case failing(String, plugin: String)
    /// So many failures of rules have come since the last ones, besides those that a step asks for.
    case failures(Int)
    /// The parked events of a subject for a plugin are tried again: the event with that id, or all.
    case retry(String, plugin: String, event: String?)
    /// A line for the reader, with what may be personal behind it.
    case note(String, String)
  }

  var name: String
  var steps: [Step] = []
  /// Whether a rule ran when the test was played last.
  private(set) var runsRules = false

  /// An effect without its id, which differs from one run of other rules to the next.
  static func withoutIdentity(_ effect: JSONValue) -> JSONValue {
    .members(["plugin": effect["plugin"], "sink": effect["sink"], "type": effect["type"], "data": effect["data"]])
  }

  /// Plays the steps, and replaces decisions that do not come out again with a note.
  mutating func keepOnlyWhatHolds(under catalog: Catalog) throws(RequestError) {
    let results = try play(under: catalog)
    var kept: [Step] = []
    for (step, result) in zip(steps, results) {
      switch step {
      case .event(let event, let wanted?) where result.decided != wanted:
        kept += [.event(event, decisions: nil), Self.differs(wanted)]
      case .decided(_, let wanted) where result.decided != wanted: kept.append(Self.differs(wanted))
      case .effects(let subject, _, let wanted) where result.effects == wanted:
        if !wanted.isEmpty { kept.append(.effects(subject, from: result.firstEffect, wanted)) }
      case .effects(_, _, let wanted):
        kept.append(.note("played as a test, there are other effects than recorded", JSONValue.array(wanted).text))
      case .retry(_, let plugin, _) where result.decided == nil:
        kept.append(.note("played as a test, nothing is parked for the retry that was recorded", "for \(plugin)"))
      default: kept.append(step)
      }
      if result.failures > 0 { kept.append(.failures(result.failures)) }
    }
    steps = kept
  }

  private static func differs(_ recorded: JSONValue) -> Step {
    .note("played as a test, the rules decide otherwise than recorded", recorded.text)
  }

  /// Replaces all expectations with the present results, as the events have been changed.
  mutating func expectWhatComesOut(under catalog: Catalog) throws(RequestError) {
    let results = try play(under: catalog)
    steps = zip(steps, results).flatMap { step, result -> [Step] in
      let got = result.decided ?? [:]
      let same: [Step] =
        switch step {
        case .event(let event, .some): [.event(event, decisions: got)]
        case .decided(let subject, _): got == [:] ? [] : [.decided(subject, got)]
        case .effects(let subject, _, _):
          result.effects.isEmpty ? [] : [.effects(subject, from: result.firstEffect, result.effects)]
        case .failures: []
        default: [step]
        }
      return result.failures > 0 ? same + [.failures(result.failures)] : same
    }
  }

  private struct Result {
    /// The decisions; nil for a step that decides nothing, and for a retry of nothing.
    var decided: JSONValue?
    /// The number of failures that no step asks for.
    var failures = 0
    /// The effects since the last step that looks at them, without ids, and the number of the first one.
    var effects: [JSONValue] = []
    var firstEffect = 1
  }

  private mutating func play(under catalog: Catalog) throws(RequestError) -> [Result] {
    let engine = try LocalEngine(catalog: catalog, lua: LuaWorker(), keepsFailures: true)
    var results: [Result] = []
    var seen: [String: Int] = [:]
    for step in steps {
      var result = Result()
      switch step {
      case .at(let time): try engine.set(time)
      case .given(let subject, let version, let states, let items):
        try engine.give(subject, version: UInt64(version), states: states, items: items)
      case .event(let event, _):
        let outcome = try engine.event(.object(event))
        result.decided = outcome["decisions"] ?? [:]
        if outcome["duplicate"] != true { result.failures = Self.count(outcome["failures"]?.arrayValue ?? []) }
      case .decided(let subject, _): result.decided = engine.decided(of: subject) ?? [:]
      case .effects(let subject, _, _):
        let all = engine.effects(of: subject), known = seen[subject] ?? 0
        (result.effects, result.firstEffect) = (all.dropFirst(known).map(Self.withoutIdentity), known + 1)
        seen[subject] = all.count
      case .failing(let subject, let plugin): engine.fail(plugin, onNextEventOf: subject)
      case .retry(let subject, let plugin, let event):
        if try engine.retry(plugin, of: subject, event: event) > 0 { result.decided = [:] }
      case .failures, .note, .settings: break
      }
      result.failures += Self.count(engine.takeFailures().map(\.failure))
      results.append(result)
    }
    runsRules = engine.hasRunRules
    return results
  }

  /// The number of failures that no step asks for.
  private static func count(_ failures: [JSONValue]) -> Int {
    failures.count { $0["message"]?.stringValue != LocalEngine.wantedFailure }
  }

  /// The function by which a captured test compares effects.
  private static let effects = """
    -- The effects on a subject from one on, without what differs from run to run.
    local function effects(t, subject, from)
      local all, found = t:effects(subject), array {}
      for i = from, #all do
        found[#found + 1] = { plugin = all[i].plugin, sink = all[i].sink, type = all[i].type, data = all[i].data }
      end
      return found
    end


    """

  func text(about lines: [String]) -> String {
    var text = lines.map { "-- \($0)\n" }.joined()
    let isEffect = { (step: Step) in if case .effects = step { true } else { false } }
    if steps.contains(where: isEffect) { text += Self.effects }
    text += "test \(LuaText.string(name)) (function(t)\n  t:captured()\n  local outcome\n"
    return text + steps.map { "  \(Self.line($0))\n" }.joined() + "end)\n"
  }

  private static func line(_ step: Step) -> String {
    let (quoted, value) = (LuaText.string, LuaText.value)
    switch step {
    case .at(let time): return "t:at(\(quoted(time.exactRFC3339)))"
    case .settings(let plugin, let values): return "t:settings(\(value(.object(values))), \(quoted(plugin)))"
    case .decided(let subject, let decisions): return "t:equal(t:decided(\(quoted(subject))), \(value(decisions)))"
    case .given(let subject, let version, let states, let items):
      let items = items.isEmpty ? "" : ", \(value(.object(items)))"
      return "t:given(\(quoted(subject)), \(version), \(value(.object(states)))\(items))"
    case .effects(let subject, let first, let effects):
      return "t:equal(effects(t, \(quoted(subject)), \(first)), \(value(.array(effects))))"
    case .failing(let subject, let plugin): return "t:failing(\(quoted(subject)), \(quoted(plugin)))"
    case .failures(let count): return "t:equal(#t:failures(), \(count))"
    case .retry(let subject, let plugin, let event):
      return "t:retry(\(([subject, plugin] + (event.map { [$0] } ?? [])).map(quoted).joined(separator: ", ")))"
    case .note(let note, let detail):
      let line = detail.isEmpty ? note : "\(note): \(detail)"
      return "-- \(line.split(separator: "\n").joined(separator: " "))"
    case .event(var event, let decisions):
      let type = event["type"]?.stringValue ?? "", subject = event["subject"]?.stringValue ?? ""
      let data = event["data"] ?? [:]
      for member in ["type", "subject", "data"] { event[member] = nil }
      let sent = "outcome = t:event(\(quoted(subject)), \(quoted(type)), \(value(data)), \(value(.object(event))))"
      return decisions.map { "\(sent)\n  t:equal(outcome.all, \(value($0)))" } ?? sent
    }
  }
}

enum LuaText {
  private static let words: Set<String> = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
  ]

  /// A value: objects are tables, arrays are made with `array`, and null is `json.null`.
  static func value(_ value: JSONValue) -> String {
    switch value {
    case .null: return "json.null"
    case .string(let text): return string(text)
    case .array(let elements): return elements.isEmpty ? "array {}" : "array { \(list(elements.map(Self.value))) }"
    case .object(let object):
      return object.isEmpty ? "{}" : "{ \(list(object.map { "\(name($0.name)) = \(Self.value($0.value))" })) }"
    case .bool, .integer, .number: return value.text
    }
  }

  static func string(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": literal += "\\\(scalar)"
      case "\n": literal += "\\n"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        literal += "\\" + scalar.value.digits(3)
      case _ where scalar.isSteering: literal += "\\u{\(String(scalar.value, radix: 16))}"
      default: literal.unicodeScalars.append(scalar)
      }
    }
    return literal + "\""
  }

  private static func name(_ name: String) -> String { isName(name) ? name : "[\(string(name))]" }

  /// Whether a text may stand after a dot.
  static func isName(_ text: String) -> Bool {
    !words.contains(text) && text.utf8.first.map { !$0.isDigit } == true
      && text.utf8.allSatisfy { $0 == UInt8(ascii: "_") || $0.isDigit || $0.isLetter }
  }

  private static func list(_ parts: [String]) -> String { parts.joined(separator: ", ") }
}
