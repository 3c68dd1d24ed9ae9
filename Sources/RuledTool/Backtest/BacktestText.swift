internal import RuledCore
internal import RuledReplay
internal import RuledReports

/// Writes a backtest's report for a terminal: the subjects that the change concerns, and the change, on one screen.
struct BacktestText {
  /// How many decisions, effects, rules and failures are listed, and how many changes of each decision.
  private static let (mostRows, mostChanges) = (8, 3)

  /// The report that `--json` would print.
  let report: JSONValue
  let result: Comparison
  let style: Style

  var text: String {
    var text = header + "\n" + verdict
    text += decisions + effects + counters + failures + rules + mostChanged
    for exceeded in report.elements("exceeded") {
      text += "\n" + style.red("exceeded: \(exceeded.brief)") + "\n"
    }
    return text
  }

  // MARK: Header

  private var header: String {
    let range = report["range"] ?? .null
    let since = range["since"]?.stringValue.map(Self.minute) ?? "-"
    let until = range["until"]?.stringValue.map(Self.minute) ?? "-"
    var text = style.bold("\(report.word("baseline")) → \(report.word("candidate"))") + "\n"
    text += "\(Figures.count(result.events, "event")) of \(Figures.count(result.subjectCount, "subject")), "
    text += "\(since) – \(until)\n"
    for gap in report.elements("gaps") {
      let what = gap["listed"] == true ? "not replayed" : "no entries"
      text += style.yellow("\(what) \(gap.word("first")) – \(gap.word("last")): ")
      text += "\(gap.word("reason").printable)\n"
    }
    return text + fidelity
  }

  /// The share of events that the baseline gives again exactly; nothing where nothing was recorded.
  private var fidelity: String {
    let fidelity = report["fidelity"] ?? .null
    let (replayed, equal) = (fidelity.count("replayed"), fidelity.count("equal"))
    guard replayed > 0 else { return "" }
    var text = "the baseline gives \(Figures.percent(equal, of: replayed)) of the recorded outcomes again exactly"
    let reasons = fidelity.elements("different").map { different in
      "\(Figures.count(different.count("count"))) not: \(different.word("reason"))"
    }
    if !reasons.isEmpty { text += "; " + style.yellow(reasons.joined(separator: ", ")) }
    return text + "\n"
  }

  /// A time of RFC 3339 to the minute, without its `T`.
  private static func minute(_ time: String) -> String {
    String(time.prefix(16)).replacing("T", with: " ")
  }

  // MARK: Verdict

  private var verdict: String {
    let (changed, states) = (result.outcomes.changed, report["states"] ?? .null)
    let traffic = traffic
    guard changed > 0 || states.count("changed") > 0 else {
      let equal = "every outcome and every state is equal\n"
      return (traffic + effects + counters).isEmpty && report["failures"]?["before"] == report["failures"]?["after"]
        ? style.green("no difference: \(equal)") : equal + traffic
    }
    let all = result.outcomes.equal + changed
    var text = style.bold(
      "\(Figures.count(changed)) of \(Figures.count(all, "event")) (\(Figures.percent(changed, of: all)))")
    text += " come out differently, for \(Figures.count(result.changedSubjects)) of "
    text +=
      "\(Figures.count(result.subjectCount, "subject")) (\(Figures.percent(result.changedSubjects, of: result.subjectCount)))\n"
    let ended = states.count("changed")
    text += "\(Figures.count(ended, "subject")) \(ended == 1 ? "ends" : "end") with another state\n"
    let others = report.elements("other_states")
    for other in others.prefix(Self.mostRows) {
      text +=
        "  \(style.cyan(other.word("plugin").printable))  first: \(other.word("explain", else: "").printable)\n"
    }
    text += further(others.count)
    return text + traffic
  }

  /// The differences beside those in outcomes and states: messages, timers, boards and topics.
  private var traffic: String {
    var text = ""
    for (name, noun) in [("messages", "messages between subjects"), ("timers", "timers that fired")] {
      let count = report[name] ?? .null
      if count["before"] != count["after"] { text += "\(noun): \(Self.beforeAndAfter(count))\n" }
    }
    for board in report.elements("boards") where board.count("changed") > 0 {
      let name = "\(board.word("plugin"))/\(board.word("name"))".quotedName
      text += "board \(style.cyan(name)): \(Figures.count(board.count("changed"), "other score"))\n"
    }
    for topic in report.elements("topics") where topic.isOtherTopic { text += describe(topic: topic) + "\n" }
    return text
  }

  private func describe(topic: JSONValue) -> String {
    var parts: [String] = []
    if topic.count("changed") > 0 {
      parts.append("\(Figures.count(topic.count("changed"), "other member")), such as \(topic.otherMembers)")
    }
    let publications = topic["publications"] ?? .null
    if publications["before"] != publications["after"] {
      parts.append("publications \(Self.beforeAndAfter(publications))")
    }
    let name = "\(topic.word("plugin"))/\(topic.word("name"))".quotedName
    return "topic \(style.cyan(name)): \(parts.joined(separator: "; "))"
  }

  // MARK: Decisions

  private var decisions: String {
    let changed = result.details.filter { $0.differences > 0 }
    guard !changed.isEmpty else { return "" }
    var text = "\n" + style.bold("decisions") + "\n"
    for decision in changed.prefix(Self.mostRows) { text += describe(decision) }
    return text + further(changed.count)
  }

  private func describe(_ decision: JSONValue) -> String {
    let name = "\(decision.word("plugin")).\(decision.word("key"))".quotedName
    let counts = ["equal", "changed", "new", "gone"].compactMap { kind -> String? in
      let count = decision.count(kind)
      return count > 0 ? "\(Figures.count(count)) \(kind)" : nil
    }
    var text = "  \(style.cyan(name))  \(counts.joined(separator: ", "))\n"
    for line in Self.changes(of: decision).prefix(Self.mostChanges) { text += "    \(line)\n" }
    for number in decision.elements("numbers") where number["before"] != number["after"] {
      text += "    " + Self.numbers(number) + "\n"
    }
    for kind in ["gone", "new"] {
      let examples = decision.elements("examples").filter { $0.word("kind") == kind }.prefix(4)
      let subjects = examples.map { $0.word("subject").quotedName }
      if !subjects.isEmpty { text += style.dim("    \(kind) for \(subjects.joined(separator: ", "))") + "\n" }
    }
    return text
  }

  /// The commonest changes; for objects and arrays, the changes within them.
  private static func changes(of decision: JSONValue) -> [String] {
    let members = decision.elements("members")
    let values = decision.elements("changes").filter { change in
      members.isEmpty || !(change["before"] ?? .null).isContainer || !(change["after"] ?? .null).isContainer
    }
    return (members + values).sorted { $0.count("count") > $1.count("count") }.map { change in
      let path = change["path"].map { "\($0.brief): " } ?? ""
      let what = "\(path)\(value(change["before"])) → \(value(change["after"]))"
      return "\(what.printable)  \(Figures.count(change.count("count")))"
    }
  }

  private static func value(_ value: JSONValue?) -> String {
    guard let value, !value.isNull else { return "none" }
    let text = value.text
    return text.count > 40 ? text.prefix(39) + "…" : text
  }

  private static func numbers(_ number: JSONValue) -> String {
    let (before, after) = (number["before"] ?? .null, number["after"] ?? .null)
    let path = number["path"]?.stringValue ?? ""
    let parts = ["sum", "mean", "p50", "p99"].compactMap { name -> String? in
      guard let left = before[name]?.doubleValue, let right = after[name]?.doubleValue, left != right else {
        return nil
      }
      let growth = left == 0 ? "" : " (\(signed((right - left) / abs(left))))"
      return "\(name) \(Figures.hundredths(left)) → \(Figures.hundredths(right))\(growth)"
    }
    return "\(path.isEmpty ? "value" : path.printable): \(parts.joined(separator: ", "))"
  }

  // MARK: Effects, failures, rules

  private var effects: String {
    let changed = report.elements("effects").filter { $0["before"] != $0["after"] }
    return section("effects", ["EFFECT", "SINK", "PLUGIN", ">BEFORE", ">AFTER", ">"], changed) { effect in
      let (before, after) = (effect.count("before"), effect.count("after"))
      return ["type", "sink", "plugin"].map { effect.word($0).quotedName }
        + [Figures.count(before), Figures.count(after), Self.growth(before, after)]
    }
  }

  private var counters: String {
    let changed = report.elements("counters").filter { $0["before"] != $0["after"] }
    return section("counters", ["COUNTER", "LABELS", "PLUGIN", ">BEFORE", ">AFTER"], changed) { counter in
      let labels = counter["labels"]?.objectValue?.map { "\($0.name)=\($0.value.brief)" }.joined(separator: " ") ?? ""
      return [counter.word("name").quotedName, labels, counter.word("plugin")]
        + ["before", "after"].map { counter[$0]?.text ?? "?" }
    }
  }

  private var failures: String {
    let failures = report["failures"] ?? .null
    guard failures.count("before") > 0 || failures.count("after") > 0 else { return "" }
    var text = "\n" + style.bold("failures") + "  \(Self.beforeAndAfter(failures))\n"
    let kinds = failures.elements("kinds")
    for kind in kinds.prefix(Self.mostRows) {
      let location = kind["file"]?.stringValue.map { " at \($0):\(kind.word("line"))" } ?? ""
      let what = "\(kind.word("plugin")): \(kind.word("message"))\(location)".printable
      text += "  \(style.red(what))  \(Figures.count(kind.count("count")))\n"
    }
    return text + further(kinds.count)
  }

  /// The rules that fire more or less often, or take 1 % more or fewer instructions.
  private var rules: String {
    let changed = report.elements("rules").filter { rule in
      let cost = rule["instructions"] ?? .null
      let (before, after) = (cost.count("before"), cost.count("after"))
      return rule["fired"]?["before"] != rule["fired"]?["after"] || abs(after - before) * 100 > before
    }
    return section("rules", ["RULE", ">FIRED", ">INSTRUCTIONS EACH", ">"], changed) { rule in
      let cost = rule["instructions"] ?? .null
      return [
        "\(rule.word("plugin")).\(rule.word("rule"))", Self.beforeAndAfter(rule["fired"] ?? .null),
        Self.beforeAndAfter(cost), Self.growth(cost.count("before"), cost.count("after")),
      ]
    }
  }

  // MARK: Subjects

  private var mostChanged: String {
    let most = Array(report.elements("most_changed").prefix(5))
    return section("changed most", ["SUBJECT", ">EVENTS", "EXPLAINED BY"], most) {
      [$0.word("subject").quotedName, Figures.count($0.count("events")), $0.explanation]
    }
  }

  /// A table of the first elements below a title; nothing if there are none.
  private func section(
    _ title: String, _ columns: [String], _ elements: [JSONValue], _ cells: (JSONValue) -> [String]
  ) -> String {
    guard !elements.isEmpty else { return "" }
    let table = Table(columns).rows(elements.prefix(Self.mostRows), cells)
    return "\n" + style.bold(title) + "\n" + table.text(style, indent: "  ") + further(elements.count)
  }

  // MARK: Figures

  private func further(_ count: Int) -> String {
    count > Self.mostRows ? style.dim("  and \(Figures.count(count - Self.mostRows)) more; --json has all") + "\n" : ""
  }

  private static func beforeAndAfter(_ count: JSONValue) -> String {
    let (before, after) = (count.count("before"), count.count("after"))
    return before == after ? Figures.count(after) : "\(Figures.count(before)) → \(Figures.count(after))"
  }

  private static func growth(_ before: Int, _ after: Int) -> String {
    if before == after { return "" }
    return before == 0 ? "new" : signed(Double(after - before) / Double(before))
  }

  private static func signed(_ share: Double) -> String {
    (share < 0 ? "−" : "+") + Figures.percent(abs(share))
  }
}
