/// Writes HTML: elements around escaped text, and charts as inline SVG.
struct HTMLText {
  private(set) var text = ""

  mutating func raw(_ html: String) { text += html }

  /// Writes text; characters with a meaning in HTML are escaped.
  mutating func text(_ plain: String) { text += plain.escapedForMarkup }

  mutating func element(_ name: String, _ style: String = "", _ body: (inout HTMLText) -> Void) {
    text += style.isEmpty ? "<\(name)>" : "<\(name) class=\"\(style)\">"
    body(&self)
    text += "</\(name)>"
  }

  /// Writes a link to an element of this page.
  mutating func link(_ id: String, _ plain: String) {
    text += "<a href=\"#\(id)\">"
    text(plain)
    text += "</a>"
  }

  // MARK: Charts

  /// Draws one bar whose parts are as long as their shares; each part has the class of its name.
  mutating func bar(_ parts: [(name: String, count: Int)], label: String) {
    let whole = parts.reduce(0) { $0 + $1.count }
    let about = parts.filter { $0.count > 0 }.map { "\(Figures.count($0.count)) \($0.name)" }.joined(separator: ", ")
    text += "<svg class=\"bar\" viewBox=\"0 0 1000 16\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\""
    text("\(label): \(about)")
    text += "\"><title>"
    text(about)
    text += "</title>"
    var left = 0.0
    for part in parts where part.count > 0 {
      // A part that is not empty is seen.
      let width = max(3, Double(part.count) / Double(max(whole, 1)) * 1000)
      text +=
        "<rect class=\"\(part.name)\" x=\"\(Self.tenths(min(left, 997)))\" width=\"\(Self.tenths(width))\" height=\"16\"/>"
      left += width
    }
    text += "</svg>"
    element("small", "counts") { $0.text(about) }
  }

  /// Draws two bars for each row: the value before and the value after.
  mutating func pairs(_ rows: [(name: String, before: Double, after: Double)]) {
    let most = rows.reduce(0) { max($0, abs($1.before), abs($1.after)) }
    element("div", "pairs") { page in
      for row in rows {
        page.element("div", row.before == row.after ? "pair same" : "pair") { page in
          page.element("span", "name") { $0.text(row.name) }
          page.raw("<svg viewBox=\"0 0 1000 22\" preserveAspectRatio=\"none\" aria-hidden=\"true\">")
          for (top, style, value) in [(0, "before", row.before), (12, "after", row.after)] {
            let width = most == 0 ? 0 : abs(value) / most * 1000
            page.raw("<rect class=\"\(style)\" y=\"\(top)\" width=\"\(Self.tenths(width))\" height=\"10\"/>")
          }
          page.raw("</svg>")
          page.element("span", "figures") { page in
            let (before, after) = (Figures.hundredths(row.before), Figures.hundredths(row.after))
            page.text(before == after ? after : "\(before) → \(after)")
          }
        }
      }
    }
  }

  private static func tenths(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }
}

extension String {
  /// The text for XML and HTML, in an element or a quoted attribute: characters with a meaning in markup are escaped, and those that XML forbids are
  /// U+FFFD.
  package var escapedForMarkup: String {
    var escaped = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "&": escaped += "&amp;"
      case "\"": escaped += "&quot;"
      case "\n": escaped += "&#10;"
      case "\t": escaped += "&#9;"
      case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
