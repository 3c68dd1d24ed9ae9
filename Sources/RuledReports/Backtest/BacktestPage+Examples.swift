import RuledCore
import RuledReplay

/// Whom a change concerns most, and changed events explained on both sides.
extension BacktestPage {
  /// The subjects with most changed events, each with the command that explains the first of these.
  func writeMostChanged(to page: inout HTMLText) {
    writeExplained("Changed most", "most_changed", "<th>subject</th><th class=\"n\">events</th>", to: &page) {
      entry, page in
      page.element("td") { $0.text(entry["subject"]?.brief ?? "?") }
      page.element("td", "n") { $0.text(Figures.count(entry.count("events"))) }
    }
  }

  /// For each plugin the first event after which it has another state, with the command that explains it.
  func writeOtherStates(to page: inout HTMLText) {
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
          page.element("td") { page in page.element("code") { $0.text(entry["explain"]?.brief ?? "") } }
        }
      }
    }
  }

  /// Changed events, explained, to be unfolded.
  func writeExamples(to page: inout HTMLText) {
    guard !examples.isEmpty else { return }
    page.element("h2") { $0.text("Explained") }
    for (index, example) in examples.enumerated() {
      page.element("details", "row example") { page in
        page.element("summary") { page in
          page.element("code") { $0.text(example.subject) }
          page.text(" \(example.type) ")
          page.element("small") { $0.text(example.event) }
        }
        // A browser that follows a link to what is folded away opens it.
        page.raw("<span id=\"event-\(index)\"></span>")
        page.element("div", "sides") { page in
          Self.writeSide("before", example.lines.baseline, other: example.lines.candidate, to: &page)
          Self.writeSide("after", example.lines.candidate, other: example.lines.baseline, to: &page)
        }
      }
    }
  }

  /// One side's tree, with what the other side does not have marked.
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
}

/// An event that came out differently, explained under both rules: which rules fired, and what they did.
package struct BacktestExample {
  let subject: String
  let event: String
  let type: String
  /// How it came out on each side, one finding a line, with the rules that fired and those that did not.
  let lines: (baseline: [String], candidate: [String])

  /// The example of an event whose outcome, with its trace, is known for both sides.
  init(subject: String, event: String, type: String, baseline: JSONValue, candidate: JSONValue) {
    self.subject = subject
    self.event = event
    self.type = type
    lines = (Self.lines(of: baseline, type), Self.lines(of: candidate, type))
  }

  /// The events that a report explains: some of those that each decision changed for, and the first of the subjects that changed most.
  static func wanted(by result: ComparisonResult) -> [(subject: String, event: String)] {
    var wanted: [(subject: String, event: String)] = []
    func add(_ subject: String, _ event: String) {
      guard wanted.count < 40, !wanted.contains(where: { $0.subject == subject && $0.event == event }) else { return }
      wanted.append((subject, event))
    }
    for decision in result.details.prefix(12) {
      for kind in [DecisionTally.Example.Kind.changed, .gone, .new] {
        for example in decision.examples.filter({ $0.kind == kind }).prefix(2) { add(example.subject, example.event) }
      }
    }
    for subject in result.mostChanged { add(subject.subject, subject.event) }
    return wanted
  }

  private static func lines(of outcome: JSONValue, _ type: String) -> [String] {
    let tree = TraceTree(withoutTimes(outcome), style: .plain).text(type: type)
    return OutcomeText(outcome, style: .plain).findings + [""] + tree.split(separator: "\n").map(String.init)
  }

  /// The outcome with a trace of the rules that listened, which does not tell how long they took: that differs from run to run.
  private static func withoutTimes(_ outcome: JSONValue) -> JSONValue {
    guard var members = outcome.objectValue else { return outcome }
    members["trace"] = .array(
      outcome.elements("trace").compactMap { entry in
        guard var members = entry.objectValue, entry["reason"]?.stringValue?.hasPrefix("listens to") != true else {
          return nil
        }
        members["micros"] = nil
        return .object(members)
      })
    return .object(members)
  }
}

/// Finds what the lines of one side of an explained event have that the other side does not have.
///
/// Lines are compared by their parts, which end after each comma: of a long list only the elements that differ are marked.
struct LineDifferences {
  struct Line {
    /// How many characters wide its beginning is, the branches of the tree.
    var indent: Int
    /// Its parts in order; without a line feed.
    var parts: [(text: String, isMarked: Bool)]
  }

  private let lines: Set<String>
  private let parts: Set<Substring>

  /// Compares with the lines of the other side.
  init(_ other: [String]) {
    lines = Set(other)
    parts = Set(other.flatMap { Self.split($0).parts.map(Self.name) })
  }

  /// A line of this side, with what the other side does not have marked: neighbouring parts together.
  func marked(_ line: String) -> Line {
    let (branches, found) = Self.split(line)
    var parts: [(text: String, isMarked: Bool)] = []
    if !branches.isEmpty { parts.append((String(branches), false)) }
    let isSame = lines.contains(line)
    for (index, part) in found.enumerated() {
      let isMarked = !isSame && !self.parts.contains(Self.name(part))
      if index > 0, let last = parts.last, last.isMarked == isMarked {
        parts[parts.count - 1].text += part
      } else {
        parts.append((String(part), isMarked))
      }
    }
    return Line(indent: branches.count, parts: parts)
  }

  /// The branches of the tree at a line's beginning, and what follows them in parts.
  private static func split(_ line: String) -> (branches: Substring, parts: [Substring]) {
    let branches = line.prefix { "│├└─ ".contains($0) }
    var parts: [Substring] = []
    var rest = line[branches.endIndex...]
    while let comma = rest.firstIndex(of: ",") {
      parts.append(rest[...comma])
      rest = rest[rest.index(after: comma)...]
    }
    if !rest.isEmpty { parts.append(rest) }
    return (branches, parts)
  }

  /// A part without the space and the comma around it.
  private static func name(_ part: Substring) -> Substring {
    var name = part.drop { $0 == " " }
    if name.last == "," { name.removeLast() }
    return name
  }
}
