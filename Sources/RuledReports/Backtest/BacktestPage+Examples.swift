import RuledCore

extension BacktestPage {
  /// The subjects with most changed events, each with the command that explains the first of these.
  func writeMostChanged(to page: inout HTMLText) {
    writeExplained("Changed most", "most_changed", "<th>subject</th><th class=\"n\">events</th>", to: &page) {
      entry, page in
      page.element("td") { $0.text(entry.word("subject")) }
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
          page.element("td") { page in page.element("code") { $0.text(entry.word("explain", else: "")) } }
        }
      }
    }
  }

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
}
