package struct Table {
  private let headings: [String]
  private let isRight: [Bool]
  private var lines: [[String]] = []

  /// A table of columns with these headings; `>` before one puts the column's cells to the right.
  package init(_ columns: [String]) {
    headings = columns.map { String($0.trimmingPrefix(">")) }
    isRight = columns.map { $0.hasPrefix(">") }
  }

  /// Adds a row; control characters in its cells are escaped.
  package mutating func add(_ cells: [String]) {
    lines.append(cells.map(\.printable))
  }

  /// The table with a row of cells for each element.
  package func rows<Element>(_ elements: some Sequence<Element>, _ cells: (Element) -> [String]) -> Table {
    var table = self
    for element in elements { table.add(cells(element)) }
    return table
  }

  /// The table as text; `empty` where it has no rows, if that is given.
  package func text(_ style: Style, indent: String = "", empty: String? = nil) -> String {
    if lines.isEmpty, let empty { return empty }
    var widths = headings.map(\.count)
    for row in lines {
      for (column, cell) in row.enumerated() { widths[column] = max(widths[column], cell.count) }
    }
    return ([headings] + lines).enumerated().map { index, row in
      let line = row.enumerated().map { column, cell in
        let space = String(repeating: " ", count: widths[column] - cell.count)
        if isRight[column] { return space + cell }
        return column == row.count - 1 ? cell : cell + space
      }.joined(separator: "  ")
      return indent + (index == 0 ? style.dim(line) : line) + "\n"
    }.joined()
  }
}
