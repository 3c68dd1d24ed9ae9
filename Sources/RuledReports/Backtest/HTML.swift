internal import RuledCore

/// The HTML of an element around other HTML.
func element(_ name: String, class style: String = "", _ html: String) -> String {
  "<\(name)\(style.isEmpty ? "" : " class=\"\(style)\"")>\(html)</\(name)>"
}

/// The HTML of an element around text.
func element(_ name: String, class style: String = "", text: String) -> String {
  element(name, class: style, text.escapedForPage)
}

func code(_ text: String) -> String { element("code", text: text) }

// MARK: Charts

/// One bar whose parts are as long as their shares; each part has the class of its name.
func bar(_ parts: [(name: String, count: Int)], label: String) -> String {
  let whole = parts.reduce(0) { $0 + $1.count }
  let about = parts.filter { $0.count > 0 }.map { "\(Figures.count($0.count)) \($0.name)" }.joined(separator: ", ")
  var svg = "<svg class=\"bar\" viewBox=\"0 0 1000 16\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\""
  svg += "\("\(label): \(about)".escapedForPage)\">\(element("title", text: about))"
  var left = 0.0
  for part in parts where part.count > 0 {
    // A part that is not empty is seen.
    let width = max(3, Double(part.count) / Double(max(whole, 1)) * 1000)
    svg += "<rect class=\"\(part.name)\" x=\"\(tenths(min(left, 997)))\" width=\"\(tenths(width))\" height=\"16\"/>"
    left += width
  }
  return svg + "</svg>" + element("small", class: "counts", text: about)
}

/// Two bars for each row: the value before and the value after.
func bars(_ rows: some Collection<(name: String, before: Double, after: Double)>) -> String {
  let most = rows.reduce(0) { max($0, abs($1.before), abs($1.after)) }
  let html = rows.map { row in
    let bars = [(0, "before", row.before), (12, "after", row.after)].map { top, style, value in
      let width = most == 0 ? 0 : abs(value) / most * 1000
      return "<rect class=\"\(style)\" y=\"\(top)\" width=\"\(tenths(width))\" height=\"10\"/>"
    }
    let (before, after) = (Figures.hundredths(row.before), Figures.hundredths(row.after))
    return element(
      "div", class: row.before == row.after ? "pair same" : "pair",
      element("span", class: "name", text: row.name)
        + "<svg viewBox=\"0 0 1000 22\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\(bars.joined())</svg>"
        + element("span", class: "figures", text: before == after ? after : "\(before) → \(after)"))
  }
  return element("div", class: "pairs", html.joined())
}

private func tenths(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }

extension String {
  /// The text for a page, where it must not steer its reader either.
  var escapedForPage: String { printable.escapedForMarkup }

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
