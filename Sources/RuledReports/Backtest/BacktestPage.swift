package import RuledCore
package import RuledReplay

/// A backtest's report as one page of HTML without outside parts: tiles, charts, and changed events explained side by side.
package struct BacktestPage {
  private let report: JSONValue
  private let result: Comparison
  private let examples: [BacktestExample]

  /// The page of a report that `--json` would print, with some changed events explained.
  package init(_ report: JSONValue, _ result: Comparison, _ examples: [BacktestExample]) {
    self.report = report
    self.result = result
    self.examples = examples
  }

  package var text: String {
    var page = HTMLText()
    write(to: &page)
    return page.text
  }

  private func write(to page: inout HTMLText) {
    page.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Backtest</title>")
    page.raw("<style>\(Self.style)</style></head><body><main>")
    writeHeader(to: &page)
    writeTiles(to: &page)
    writeDecisions(to: &page)
    writePairs("Effects", report.elements("effects"), to: &page, counts: { $0 }) { effect in
      "\(effect.word("plugin")) → \(effect.word("sink")) \(effect.word("type"))"
    }
    writePairs("Counters", report.elements("counters"), to: &page, counts: { $0 }) { counter in
      "\(counter.word("plugin")) → \(counter.word("name")) \(counter["labels"]?.text ?? "")"
    }
    writeFailures(to: &page)
    writePairs(
      "Instructions of a rule, each time", report.elements("rules"), to: &page, counts: { $0["instructions"] ?? .null }
    ) {
      "\($0.word("plugin")) \($0.word("rule"))"
    }
    writeOtherStates(to: &page)
    writeMostChanged(to: &page)
    writeExamples(to: &page)
    page.raw("</main></body></html>\n")
  }

  // MARK: Header

  private func writeHeader(to page: inout HTMLText) {
    let range = report["range"] ?? .null
    page.element("h1") { page in
      page.text("Backtest ")
      page.element("code") { $0.text(report.word("baseline")) }
      page.text(" → ")
      page.element("code") { $0.text(report.word("candidate")) }
    }
    let fidelity = report["fidelity"] ?? .null
    var about = "\(Figures.count(result.events, "event")) of \(Figures.count(result.subjectCount, "subject"))"
    if let since = range["since"]?.stringValue, let until = range["until"]?.stringValue {
      about += ", \(since.prefix(16).replacing("T", with: " ")) – \(until.prefix(16).replacing("T", with: " "))"
    }
    if fidelity.count("replayed") > 0 {
      about += "; the baseline gives \(Figures.percent(fidelity.count("equal"), of: fidelity.count("replayed")))"
      about += " of the recorded outcomes again exactly"
    }
    page.element("p", "about") { $0.text(about) }
    for gap in report.elements("gaps") {
      let what = gap["listed"] == true ? "not replayed" : "no entries"
      page.element("p", "bad") { page in
        page.text("\(what) \(gap.word("first")) – \(gap.word("last")): \(gap.word("reason"))")
      }
    }
    for exceeded in report.elements("exceeded") { page.element("p", "bad") { $0.text("exceeded: \(exceeded.brief)") } }
  }

  private func writeTiles(to page: inout HTMLText) {
    let outcomes = result.outcomes.equal + result.outcomes.changed
    let states = report["states"] ?? .null
    let failures = report["failures"] ?? .null
    let effects = report.elements("effects")
    page.raw("<section class=\"tiles\">")
    Self.tile(
      "events differ", Figures.percent(result.outcomes.changed, of: outcomes), Figures.count(result.outcomes.changed),
      to: &page)
    Self.tile(
      "subjects concerned", Figures.percent(result.changedSubjects, of: result.subjectCount),
      Figures.count(result.changedSubjects), to: &page)
    Self.tile(
      "end in another state", Figures.percent(states.count("changed"), of: result.subjectCount),
      Figures.count(states.count("changed")), to: &page)
    Self.tile(
      "effects", Figures.count(effects.reduce(0) { $0 + $1.count("after") }),
      "before \(Figures.count(effects.reduce(0) { $0 + $1.count("before") }))", to: &page)
    Self.tile(
      "failures", Figures.count(failures.count("after")), "before \(Figures.count(failures.count("before")))",
      to: &page)
    page.raw("</section>")
    page.bar([("equal", result.outcomes.equal), ("changed", result.outcomes.changed)], label: "outcomes")
  }

  private static func tile(_ name: String, _ figure: String, _ detail: String, to page: inout HTMLText) {
    page.element("div", "tile") { page in
      page.element("b") { $0.text(figure) }
      page.element("span") { $0.text(name) }
      page.element("small") { $0.text(detail) }
    }
  }

  // MARK: Decisions

  private func writeDecisions(to page: inout HTMLText) {
    let decisions = result.details
    guard !decisions.isEmpty else { return }
    page.element("h2") { $0.text("Decisions") }
    page.element("p", "legend") { page in
      for kind in ["equal", "changed", "new", "gone"] {
        page.raw("<span class=\"key \(kind)\"></span>")
        page.text(kind)
      }
    }
    let same = decisions.filter { $0.differences == 0 }
    for decision in decisions where decision.differences > 0 { writeDecision(decision, to: &page) }
    fold("\(Figures.count(same.count)) equal on both sides", isEmpty: same.isEmpty, to: &page) { page in
      for decision in same { writeDecision(decision, to: &page) }
    }
  }

  private func writeDecision(_ decision: JSONValue, to page: inout HTMLText) {
    let name = "\(decision.word("plugin")).\(decision.word("key"))"
    page.element("details", "row") { page in
      page.element("summary") { page in
        page.element("code") { $0.text(name) }
        page.bar(["equal", "changed", "new", "gone"].map { ($0, decision.count($0)) }, label: name)
        Self.writeBrief(of: decision, to: &page)
      }
      writeWhom(decision, to: &page)
      Self.writeChanges(of: decision, to: &page)
      for number in decision.elements("numbers") { Self.writeNumbers(number, to: &page) }
    }
  }

  /// The commonest changes, on one line that is seen without opening anything.
  private static func writeBrief(of decision: JSONValue, to page: inout HTMLText) {
    let rows = changes(of: decision)
    guard !rows.isEmpty else { return }
    page.element("span", "brief") { page in
      for row in rows.prefix(3) {
        page.element("code") { page in
          let path = row.word("path", else: "")
          page.text("\(path.isEmpty ? "" : path + ": ")\(value(row["before"], 48)) → \(value(row["after"], 48))")
        }
        page.element("small") { $0.text(" \(Figures.count(row.count("count")))  ") }
      }
    }
  }

  /// Some of the subjects that a decision changed for, each with a link to its event where that is explained.
  private func writeWhom(_ decision: JSONValue, to page: inout HTMLText) {
    for kind in ["changed", "new", "gone"] {
      let found = decision.elements("examples").filter { $0.word("kind") == kind }
      guard !found.isEmpty else { continue }
      page.element("p", "whom") { page in
        page.text("\(kind) for ")
        for (index, example) in found.enumerated() {
          if index > 0 { page.text(", ") }
          let (subject, event) = (example.word("subject"), example.word("event"))
          if let index = examples.firstIndex(where: { $0.subject == subject && $0.event == event }) {
            page.link("event-\(index)", subject)
          } else {
            page.element("code") { $0.text(subject) }
          }
        }
      }
    }
  }

  /// The commonest changes; for objects and arrays, the changes within them.
  private static func changes(of decision: JSONValue) -> [JSONValue] {
    let members = decision.elements("members")
    return members.isEmpty ? decision.elements("changes") : members
  }

  private static func value(_ value: JSONValue?, _ limit: Int) -> String {
    value.flatMap { $0.isNull ? nil : String($0.text.prefix(limit)) } ?? "none"
  }

  private func fold(_ title: String, isEmpty: Bool, to page: inout HTMLText, _ body: (inout HTMLText) -> Void) {
    guard !isEmpty else { return }
    page.element("details", "row same") { page in
      page.element("summary") { $0.text(title) }
      body(&page)
    }
  }

  private static func writeChanges(of decision: JSONValue, to page: inout HTMLText) {
    let rows = changes(of: decision)
    guard !rows.isEmpty else { return }
    page.element("table") { page in
      page.raw("<tr><th>before</th><th>after</th><th class=\"n\">times</th></tr>")
      for row in rows {
        let path = row.word("path", else: "")
        page.element("tr") { page in
          for side in ["before", "after"] {
            page.element("td") { page in
              if !path.isEmpty { page.element("small") { $0.text(path + " ") } }
              page.element("code") { $0.text(value(row[side], 200)) }
            }
          }
          page.element("td", "n") { $0.text(Figures.count(row.count("count"))) }
        }
      }
    }
  }

  /// The quantiles before and after, as bars.
  private static func writeNumbers(_ number: JSONValue, to page: inout HTMLText) {
    let path = number["path"]?.stringValue ?? ""
    let rows = ["mean", "p50", "p90", "p99"].map { name in
      (name: name, before: number["before"]?[name]?.doubleValue ?? 0, after: number["after"]?[name]?.doubleValue ?? 0)
    }
    page.element("h3") { $0.text(path.isEmpty ? "value" : path) }
    page.pairs(rows)
  }

  // MARK: Pairs, failures

  private func writePairs(
    _ title: String, _ items: [JSONValue], to page: inout HTMLText, counts: (JSONValue) -> JSONValue,
    name: (JSONValue) -> String
  ) {
    let rows = items.map { item in
      (
        name: name(item), before: counts(item)["before"]?.doubleValue ?? 0,
        after: counts(item)["after"]?.doubleValue ?? 0
      )
    }.sorted { abs($0.after - $0.before) > abs($1.after - $1.before) }
    guard !rows.isEmpty else { return }
    let same = rows.filter { $0.before == $0.after }
    page.element("h2") { $0.text(title) }
    page.pairs(Array(rows.filter { $0.before != $0.after }.prefix(30)))
    fold("\(Figures.count(same.count)) equal on both sides", isEmpty: same.isEmpty, to: &page) { page in
      page.pairs(Array(same.prefix(200)))
    }
  }

  private func writeFailures(to page: inout HTMLText) {
    let kinds = report["failures"]?.elements("kinds") ?? []
    guard !kinds.isEmpty else { return }
    page.element("h2") { $0.text("Failures of the candidate") }
    page.element("table") { page in
      for kind in kinds {
        page.element("tr") { page in
          page.element("td") { $0.text(kind.word("plugin")) }
          page.element("td") { $0.text(kind.word("message")) }
          page.element("td") { page in
            let location = kind.member("file").map { "\($0.brief):\(kind.word("line"))" }
            page.element("code") { $0.text(location ?? "") }
          }
          page.element("td", "n") { $0.text(Figures.count(kind.count("count"))) }
        }
      }
    }
  }

  // MARK: Subjects and examples

  /// The subjects with most changed events, each with the command that explains the first of these.
  private func writeMostChanged(to page: inout HTMLText) {
    writeExplained("Changed most", "most_changed", "<th>subject</th><th class=\"n\">events</th>", to: &page) {
      entry, page in
      page.element("td") { $0.text(entry.word("subject")) }
      page.element("td", "n") { $0.text(Figures.count(entry.count("events"))) }
    }
  }

  /// For each plugin the first event after which it has another state, with the command that explains it.
  private func writeOtherStates(to page: inout HTMLText) {
    writeExplained("Other states", "other_states", "<th>plugin</th><th>first of</th>", to: &page) { entry, page in
      for name in ["plugin", "subject"] { page.element("td") { $0.text(entry[name]?.brief ?? "?") } }
    }
  }

  /// A table of a member of the report, whose last column has the commands that explain its entries; nothing without entries.
  ///
  /// `head` is the HTML of the other columns' heads, and `cells` writes an entry's cells below them.
  private func writeExplained(
    _ title: String, _ member: String, _ head: String, to page: inout HTMLText,
    _ cells: (JSONValue, inout HTMLText) -> Void
  ) {
    let entries = report.elements(member)
    guard !entries.isEmpty else { return }
    page.element("h2") { $0.text(title) }
    page.element("table") { page in
      page.raw("<tr>\(head)<th>explained by</th></tr>")
      for entry in entries {
        page.element("tr") { page in
          cells(entry, &page)
          page.element("td") { page in page.element("code") { $0.text(entry.word("explain", else: "")) } }
        }
      }
    }
  }

  private func writeExamples(to page: inout HTMLText) {
    guard !examples.isEmpty else { return }
    page.element("h2") { $0.text("Explained") }
    for (index, example) in examples.enumerated() {
      page.element("details", "row example") { page in
        page.element("summary") { page in
          page.element("code") { $0.text(example.subject) }
          page.text(" \(example.type) ")
          page.element("small") { $0.text(example.event) }
        }
        // A browser opens a folded part when it follows a link into it.
        page.raw("<span id=\"event-\(index)\"></span>")
        page.element("div", "sides") { page in
          Self.writeSide("before", example.lines.baseline, other: example.lines.candidate, to: &page)
          Self.writeSide("after", example.lines.candidate, other: example.lines.baseline, to: &page)
        }
      }
    }
  }

  /// One side's tree, with marks on the parts that the other side does not have.
  private static func writeSide(_ title: String, _ lines: [String], other: [String], to page: inout HTMLText) {
    let marks = LineDifferences(other)
    page.element("div", title) { page in
      page.element("h3") { $0.text(title) }
      page.element("pre") { page in
        for line in lines {
          let line = marks.marked(line)
          // A line that is too long goes on below its beginning, not below the tree.
          page.raw("<span class=\"line\" style=\"--in:\(line.indent)ch\">")
          for part in line.parts {
            if part.isMarked { page.element("mark") { $0.text(part.text) } } else { page.text(part.text) }
          }
          page.raw("</span>")
        }
      }
    }
  }

  /// For light and dark themes and for phones.
  private static let style = """
    :root { color-scheme: light dark; --ground: #fff; --panel: #f4f5f7; --text: #1c2024; --dim: #5c636d; --line: #d9dce1;
      --equal: #b9c0ca; --changed: #d97706; --new: #15803d; --gone: #b42318; --mark: #fde68a; --markText: #1c2024; }
    @media (prefers-color-scheme: dark) { :root { --ground: #14171b; --panel: #1e2228; --text: #e6e8eb; --dim: #9aa3ae;
      --line: #343a43; --equal: #4b5460; --changed: #f59e0b; --new: #4ade80; --gone: #f87171; --mark: #854d0e;
      --markText: #fff; } }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
    main { max-width: 1080px; margin: 0 auto; padding: 20px 16px 60px; }
    h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere; }
    h2 { font-size: 17px; margin: 32px 0 8px; }
    h3 { font-size: 13px; margin: 10px 0 4px; color: var(--dim); font-weight: 600; }
    code, pre { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
    .about, .legend, small { color: var(--dim); }
    .bad { color: var(--gone); font-weight: 600; }
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 16px 0 12px; }
    .tile { background: var(--panel); border-radius: 8px; padding: 10px 12px; display: grid; }
    .tile b { font-size: 22px; font-weight: 650; }
    .bar { display: block; width: 100%; height: 12px; border-radius: 3px; background: var(--panel); }
    .counts { display: block; font-size: 12px; }
    .equal { fill: var(--equal); background: var(--equal); } .changed { fill: var(--changed); background: var(--changed); }
    .new { fill: var(--new); background: var(--new); } .gone { fill: var(--gone); background: var(--gone); }
    .key { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin: 0 5px 0 12px; }
    .legend .key:first-child { margin-left: 0; }
    .row { border-top: 1px solid var(--line); padding: 8px 0; }
    .row > summary { cursor: pointer; }
    .brief { display: block; margin-top: 2px; overflow-wrap: anywhere; } .brief code { font-weight: 400 !important; }
    .whom { margin: 6px 0; } a { color: inherit; }
    .line { display: block; min-height: 1.4em; padding-left: calc(var(--in) + 2ch); text-indent: calc(-1 * var(--in) - 2ch); }
    .row > summary code { font-weight: 600; }
    .same { opacity: .65; }
    table { border-collapse: collapse; width: 100%; margin: 8px 0; display: block; overflow-x: auto; }
    th { text-align: left; color: var(--dim); font-weight: 600; font-size: 12px; }
    td, th { padding: 3px 14px 3px 0; vertical-align: top; }
    .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .pair { display: grid; grid-template-columns: minmax(90px, 260px) 1fr minmax(110px, auto); gap: 12px; padding: 3px 0;
      align-items: center; }
    .pair svg { width: 100%; height: 20px; } .pair .before { fill: var(--equal); } .pair .after { fill: var(--changed); }
    .pair.same .after { fill: var(--equal); }
    .name { overflow-wrap: anywhere; } .figures { font-variant-numeric: tabular-nums; text-align: right; }
    .sides { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
    .sides > div { min-width: 0; } pre { margin: 0; padding: 10px; background: var(--panel); border-radius: 6px;
      white-space: pre-wrap; }
    mark { background: var(--mark); color: var(--markText); border-radius: 2px; }
    @media (max-width: 640px) { .sides { grid-template-columns: 1fr; }
      .pair { grid-template-columns: 1fr auto; } .pair svg { grid-column: 1 / -1; grid-row: 2; } }
    @media print { .row { break-inside: avoid; } }

    """
}
