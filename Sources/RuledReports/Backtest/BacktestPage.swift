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
    let sections = [
      header, tiles, decisions,
      pairs("Effects", report.elements("effects"), counts: { $0 }) { effect in
        "\(effect.word("plugin")) → \(effect.word("sink")) \(effect.word("type"))"
      },
      pairs("Counters", report.elements("counters"), counts: { $0 }) { counter in
        "\(counter.word("plugin")) → \(counter.word("name")) \(counter["labels"]?.text ?? "")"
      },
      boards, topics, failures,
      pairs("Instructions of a rule, each time", report.elements("rules"), counts: { $0["instructions"] ?? .null }) {
        "\($0.word("plugin")) \($0.word("rule"))"
      },
      otherStates, mostChanged, explainedExamples,
    ]
    return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Backtest</title>"
      + "<style>\(Self.style)</style></head><body><main>" + sections.joined() + "</main></body></html>\n"
  }

  // MARK: Header

  private var header: String {
    let range = report["range"] ?? .null, fidelity = report["fidelity"] ?? .null
    var about = "\(Figures.count(result.events, "event")) of \(Figures.count(result.subjectCount, "subject"))"
    if let since = range["since"]?.stringValue, let until = range["until"]?.stringValue {
      about += ", \(since.prefix(16).replacing("T", with: " ")) – \(until.prefix(16).replacing("T", with: " "))"
    }
    if fidelity.count("replayed") > 0 {
      about += "; the baseline gives \(Figures.percent(fidelity.count("equal"), of: fidelity.count("replayed")))"
      about += " of the recorded outcomes again exactly"
    }
    let gaps = report.elements("gaps").map { gap in
      let what = gap["listed"] == true ? "not replayed" : "no entries"
      return "\(what) \(gap.word("first")) – \(gap.word("last")): \(gap.word("reason"))"
    }
    let exceeded = report.elements("exceeded").map { "exceeded: \($0.brief)" }
    return element("h1", "Backtest \(code(report.word("baseline"))) → \(code(report.word("candidate")))")
      + element("p", class: "about", text: about)
      + (gaps + exceeded).map { element("p", class: "bad", text: $0) }.joined()
  }

  private var tiles: String {
    let (equal, changed) = result.outcomes, subjects = result.subjectCount
    let ended = report["states"]?.count("changed") ?? 0
    let failures = report["failures"] ?? .null, effects = report.elements("effects")
    let tiles = [
      ("events differ", Figures.percent(changed, of: equal + changed), Figures.count(changed)),
      (
        "subjects concerned", Figures.percent(result.changedSubjects, of: subjects),
        Figures.count(result.changedSubjects)
      ),
      ("end in another state", Figures.percent(ended, of: subjects), Figures.count(ended)),
      (
        "effects", Figures.count(effects.reduce(0) { $0 + $1.count("after") }),
        "before \(Figures.count(effects.reduce(0) { $0 + $1.count("before") }))"
      ),
      ("failures", Figures.count(failures.count("after")), "before \(Figures.count(failures.count("before")))"),
    ].map { name, figure, detail in
      let texts = element("b", text: figure) + element("span", text: name) + element("small", text: detail)
      return element("div", class: "tile", texts)
    }
    return element("section", class: "tiles", tiles.joined())
      + bar([("equal", equal), ("changed", changed)], label: "outcomes")
  }

  // MARK: Decisions

  private var decisions: String {
    let decisions = result.details, same = decisions.filter { $0.differences == 0 }
    guard !decisions.isEmpty else { return "" }
    let kinds = ["equal", "changed", "new", "gone"].map { "<span class=\"key \($0)\"></span>\($0)" }
    return element("h2", text: "Decisions") + element("p", class: "legend", kinds.joined())
      + decisions.filter { $0.differences > 0 }.map(decision).joined()
      + fold(same.count, same.map(decision).joined())
  }

  private func decision(_ decision: JSONValue) -> String {
    let name = "\(decision.word("plugin")).\(decision.word("key"))"
    let counts = ["equal", "changed", "new", "gone"].map { (name: $0, count: decision.count($0)) }
    let rows = decision.elements(decision.elements("members").isEmpty ? "changes" : "members")
    let summary = element("summary", code(name) + bar(counts, label: name) + Self.brief(rows))
    let numbers = decision.elements("numbers").map(Self.numbers).joined()
    return element("details", class: "row", summary + whom(decision) + Self.table(rows) + numbers)
  }

  /// The commonest changes, on one line that is seen without opening anything.
  private static func brief(_ rows: [JSONValue]) -> String {
    guard !rows.isEmpty else { return "" }
    let changes = rows.prefix(3).map { row in
      let path = row.word("path", else: "")
      return code("\(path.isEmpty ? "" : path + ": ")\(value(row["before"], 48)) → \(value(row["after"], 48))")
        + element("small", text: " \(Figures.count(row.count("count")))  ")
    }
    return element("span", class: "brief", changes.joined())
  }

  /// Some of the subjects that a decision changed for, each with a link to its event where that is explained.
  private func whom(_ decision: JSONValue) -> String {
    ["changed", "new", "gone"].map { kind in
      let subjects = decision.elements("examples").filter { $0.word("kind") == kind }.map { example in
        let (subject, event) = (example.word("subject"), example.word("event"))
        let index = examples.firstIndex { $0.subject == subject && $0.event == event }
        return index.map { "<a href=\"#event-\($0)\">\(subject.escapedForPage)</a>" } ?? code(subject)
      }
      return subjects.isEmpty ? "" : element("p", class: "whom", "\(kind) for " + subjects.joined(separator: ", "))
    }.joined()
  }

  private static func value(_ value: JSONValue?, _ limit: Int) -> String {
    value.flatMap { $0.isNull ? nil : String($0.text.prefix(limit)) } ?? "none"
  }

  /// The rows that are equal on both sides, folded; nothing if there are none.
  private func fold(_ count: Int, _ html: String) -> String {
    let title = element("summary", text: "\(Figures.count(count)) equal on both sides")
    return count == 0 ? "" : element("details", class: "row same", title + html)
  }

  /// The commonest changes; for objects and arrays, the changes within them.
  private static func table(_ changes: [JSONValue]) -> String {
    guard !changes.isEmpty else { return "" }
    let rows = changes.map { row in
      let path = row.word("path", else: ""), prefix = path.isEmpty ? "" : element("small", text: path + " ")
      let sides = ["before", "after"].map { element("td", prefix + code(value(row[$0], 200))) }
      return element("tr", sides.joined() + element("td", class: "n", text: Figures.count(row.count("count"))))
    }
    return element(
      "table", "<tr><th>before</th><th>after</th><th class=\"n\">times</th></tr>" + rows.joined())
  }

  /// The quantiles before and after, as bars.
  private static func numbers(_ number: JSONValue) -> String {
    let path = number["path"]?.stringValue ?? ""
    let rows = ["mean", "p50", "p90", "p99"].map { name in
      (name: name, before: number["before"]?[name]?.doubleValue ?? 0, after: number["after"]?[name]?.doubleValue ?? 0)
    }
    return element("h3", text: path.isEmpty ? "value" : path) + bars(rows)
  }

  // MARK: Pairs, failures

  private func pairs(
    _ title: String, _ items: [JSONValue], counts: (JSONValue) -> JSONValue, name: (JSONValue) -> String
  ) -> String {
    let rows = items.map { item in
      let counts = counts(item)
      return (name: name(item), before: counts["before"]?.doubleValue ?? 0, after: counts["after"]?.doubleValue ?? 0)
    }.sorted { abs($0.after - $0.before) > abs($1.after - $1.before) }
    guard !rows.isEmpty else { return "" }
    let same = rows.filter { $0.before == $0.after }
    return element("h2", text: title) + bars(rows.filter { $0.before != $0.after }.prefix(30))
      + fold(same.count, bars(same.prefix(200)))
  }

  private var boards: String {
    let rows = report.elements("boards").filter { $0.count("changed") > 0 }.map { board in
      element(
        "tr",
        element("td", code("\(board.word("plugin"))/\(board.word("name"))"))
          + ["changed", "equal"].map { element("td", class: "n", text: Figures.count(board.count($0))) }.joined())
    }
    return rows.isEmpty
      ? ""
      : element("h2", text: "Boards")
        + element(
          "table", "<tr><th>board</th><th class=\"n\">other scores</th><th class=\"n\">equal</th></tr>" + rows.joined())
  }

  private var topics: String {
    let rows = report.elements("topics").filter(\.isOtherTopic).map { topic in
      let publications = topic["publications"] ?? .null
      return element(
        "tr",
        element("td", code("\(topic.word("plugin"))/\(topic.word("name"))"))
          + [
            topic.count("changed"), topic.count("equal"), publications.count("before"), publications.count("after"),
          ].map { element("td", class: "n", text: Figures.count($0)) }.joined()
          + element("td", text: topic.otherMembers))
    }
    let titles = ["other members", "equal", "publications before", "after"].map { element("th", class: "n", text: $0) }
    return rows.isEmpty
      ? ""
      : element("h2", text: "Topics")
        + element("table", "<tr><th>topic</th>\(titles.joined())<th>such as</th></tr>" + rows.joined())
  }

  private var failures: String {
    let rows = (report["failures"]?.elements("kinds") ?? []).map { kind in
      let location = kind.member("file").map { "\($0.brief):\(kind.word("line"))" } ?? ""
      return element(
        "tr",
        element("td", text: kind.word("plugin")) + element("td", text: kind.word("message"))
          + element("td", code(location)) + element("td", class: "n", text: Figures.count(kind.count("count"))))
    }
    return rows.isEmpty ? "" : element("h2", text: "Failures of the candidate") + element("table", rows.joined())
  }

  // MARK: Subjects and examples

  /// The subjects with most changed events, each with the command that explains the first of these.
  private var mostChanged: String {
    explained("Changed most", "most_changed", "<th>subject</th><th class=\"n\">events</th>") { entry in
      element("td", text: entry.word("subject")) + element("td", class: "n", text: Figures.count(entry.count("events")))
    }
  }

  /// For each plugin the first event after which it has another state, with the command that explains it.
  private var otherStates: String {
    explained("Other states", "other_states", "<th>plugin</th><th>first of</th>") { entry in
      ["plugin", "subject"].map { element("td", text: entry[$0]?.brief ?? "?") }.joined()
    }
  }

  /// A table of a member of the report, whose last column has the commands that explain its entries; nothing without entries.
  ///
  /// `head` is the HTML of the other columns' heads, and `cells` gives an entry's cells below them.
  private func explained(
    _ title: String, _ member: String, _ head: String, _ cells: (JSONValue) -> String
  ) -> String {
    let rows = report.elements(member).map { entry in
      element("tr", cells(entry) + element("td", code(entry.explanation)))
    }
    guard !rows.isEmpty else { return "" }
    return element("h2", text: title)
      + element("table", "<tr>\(head)<th>explained by</th></tr>" + rows.joined())
  }

  private var explainedExamples: String {
    let rows = examples.enumerated().map { index, example in
      let (before, after) = example.lines
      let title = "\(code(example.subject)) \(example.type.escapedForPage) \(element("small", text: example.event))"
      let sides = Self.side("before", before, other: after) + Self.side("after", after, other: before)
      // A browser opens a folded part when it follows a link into it.
      let target = "<span id=\"event-\(index)\"></span>"
      let html = element("summary", title) + target + element("div", class: "sides", sides)
      return element("details", class: "row example", html)
    }
    return rows.isEmpty ? "" : element("h2", text: "Explained") + rows.joined()
  }

  /// One side's tree, with marks on the parts that the other side does not have.
  private static func side(_ title: String, _ lines: [String], other: [String]) -> String {
    let marks = LineDifferences(other)
    let html = lines.map { line in
      let line = marks.marked(line)
      let parts = line.parts.map { $0.isMarked ? element("mark", text: $0.text) : $0.text.escapedForPage }
      // A line that is too long goes on below its beginning, not below the tree.
      return "<span class=\"line\" style=\"--in:\(line.indent)ch\">\(parts.joined())</span>"
    }
    return element("div", class: title, element("h3", text: title) + element("pre", html.joined()))
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
