package import RuledCore

package struct OutcomeText {
  private let outcome: JSONValue
  private let style: Style

  package init(_ outcome: JSONValue, style: Style) {
    self.outcome = outcome
    self.style = style
  }

  package func text(isDryRun: Bool) -> String { headline(isDryRun) + "\n" + details(isParked: !isDryRun) }

  /// Decisions, effects and failures, on several lines; after a failure that the event is parked, if it `isParked`.
  package func details(isParked: Bool) -> String {
    var text = ""
    let decisions = decisions
    if !decisions.isEmpty {
      text += "\n" + style.bold("decisions") + "\n"
      var plugin = ""
      let width = decisions.map(\.key.count).max() ?? 0
      for decision in decisions {
        if decision.plugin != plugin { text += "  " + style.cyan(decision.plugin) + "\n" }
        plugin = decision.plugin
        let space = String(repeating: " ", count: width - decision.key.count)
        text += "    \(decision.key)\(space)  \(decision.value)\n"
      }
    }
    let effects = outcome.elements("effects")
    if !effects.isEmpty {
      let table = Table(["SINK", "TYPE", "PLUGIN", "ID", "DATA"]).rows(effects) { effect in
        ["sink", "type", "plugin", "id", "data"].map { effect.word($0, else: "-") }
      }
      text += "\n" + style.bold("effects") + "\n" + table.text(style, indent: "  ")
    }
    let failures = failures
    if !failures.isEmpty {
      text += "\n" + style.bold("failures") + "\n"
      for failure in failures { text += "  " + style.red(failure.line.printable) + "\n" }
      if isParked {
        text += "  the event is parked for " + (failures.count == 1 ? "this plugin" : "these plugins")
        text += "; see 'rulectl parked'\n"
      }
    }
    if decisions.isEmpty, effects.isEmpty, failures.isEmpty { text += "no decisions, no effects\n" }
    return text
  }

  /// Decisions, effects and failures on one line.
  package var line: String {
    let decided = decisions.map { "\($0.plugin).\($0.key)=\($0.value)" }
    let emitted = outcome.elements("effects").map { "→ \($0.word("sink")) \($0.word("type"))".printable }
    let failed = failures.map { style.red("! " + $0.line.printable) }
    return (decided + emitted + failed).joined(separator: "  ")
  }

  /// Each decision, effect with its data, and failure, on a line of its own.
  package var findings: [String] {
    let decided = decisions.map { "\($0.plugin).\($0.key) = \($0.value)" }
    let emitted = outcome.elements("effects").map {
      "→ \($0.word("sink")) \($0.word("type")) \($0["data"]?.text ?? "")".printable
    }
    return decided + emitted + failures.map { "✗ \($0.line)".printable }
  }

  private var failures: [ReportedFailure] { outcome.elements("failures").map(ReportedFailure.init) }

  private var decisions: [(plugin: String, key: String, value: String)] {
    (outcome.member("decisions")?.objectValue?.members ?? []).flatMap { plugin, keys in
      (keys.objectValue?.members ?? []).map { (plugin.printable, $0.name.printable, $0.value.text.printable) }
    }
  }

  private func headline(_ isDryRun: Bool) -> String {
    let subject = style.bold(outcome.word("subject").printable)
    let id = outcome.member("id").map { "  event \($0.brief.printable)" } ?? ""
    if isDryRun { return "\(subject)  \(style.yellow("dry run, nothing is stored"))\(style.dim(id))" }
    let version = outcome.member("version").map { "  version \($0.brief)" } ?? ""
    let repeated = outcome.member("duplicate")?.boolValue ?? false
    let differs = outcome.member("differs")?.boolValue ?? false
    let notice =
      "duplicate: this is the first outcome again" + (differs ? ", of an event with another type or other data" : "")
    return subject + version + style.dim(id) + (repeated ? "  " + style.yellow(notice) : "")
  }
}
