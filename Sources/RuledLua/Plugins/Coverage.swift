import CLuaBridge

/// The lines, functions and branches of the rules that ran, in all VMs that were built with this coverage.
///
/// A VM adds its lines when it is freed, and functions and branches as they begin.
package final class Coverage {
  /// How often a line ran, by file and line.
  package private(set) var runs: [String: [Int: UInt64]] = [:]
  /// The functions and branches of the files that were loaded, by file.
  package private(set) var parts: [String: [CoveredPart]] = [:]
  /// How often each part began, by its number.
  package private(set) var beginnings: [UInt64] = []
  private var texts: [String: (file: SourceFile, text: [UInt8])] = [:]
  private var recent: Set<Int> = []

  package init() {}

  /// The parts that began since the last call.
  package func takeRecent() -> Set<Int> {
    defer { recent.removeAll() }
    return recent
  }

  func add(_ count: UInt64, line: Int, of file: String) { runs[file, default: [:]][line, default: 0] += count }

  func note(_ part: Int) {
    guard beginnings.indices.contains(part) else { return }
    beginnings[part] += 1
    recent.insert(part)
  }

  /// The text of a file with a call at the beginning of each of its parts; as it is if it can't be read as Lua.
  func text(of file: SourceFile) -> [UInt8] {
    if let known = texts[file.path], known.file == file { return known.text }
    guard let tree = try? SyntaxTree(parsing: file.text) else { return file.text }
    var marker = CoverageMarker(file.text, first: beginnings.count)
    let text = marker.mark(tree)
    parts[file.path] = marker.parts
    beginnings += Array(repeating: 0, count: marker.parts.count)
    texts[file.path] = (file, text)
    return text
  }
}

/// A function or a branch of a file.
package struct CoveredPart: Sendable, Equatable {
  package enum Kind: Sendable, Equatable { case function, branch }

  /// Its number in the coverage.
  package let number: Int
  package let kind: Kind
  package let line: Int
  /// Its bytes in the file; for the branch that a missing `else` is, none.
  package let range: Range<Int>
}

/// Puts a call of `__covered` at the beginning of each function and branch of a text, without changing the lines.
private struct CoverageMarker {
  /// The parts, in the order of the text.
  private(set) var parts: [CoveredPart] = []
  private let text: [UInt8]
  private let first: Int
  private var insertions: [(offset: Int, order: Int, text: String)] = []

  init(_ text: [UInt8], first: Int) {
    self.text = text
    self.first = first
  }

  /// The text with its calls.
  mutating func mark(_ tree: SyntaxTree) -> [UInt8] {
    visit(tree.root)
    var marked: [UInt8] = []
    var copied = 0
    for insertion in insertions.sorted(by: { ($0.offset, $0.order) < ($1.offset, $1.order) }) {
      marked += text[copied..<insertion.offset]
      marked += Array(insertion.text.utf8)
      copied = insertion.offset
    }
    return marked + text[copied...]
  }

  private mutating func part(_ kind: CoveredPart.Kind, _ node: SyntaxNode) -> Int {
    let number = first + parts.count
    parts.append(CoveredPart(number: number, kind: kind, line: node.line, range: node.range))
    return number
  }

  private mutating func insert(_ text: String, at offset: Int) {
    insertions.append((offset, insertions.count, text))
  }

  private mutating func begin(_ kind: CoveredPart.Kind, _ node: SyntaxNode, _ block: SyntaxNode) {
    insert(" __covered(\(part(kind, node))); ", at: block.range.lowerBound)
  }

  private mutating func visit(_ node: SyntaxNode) {
    switch node.kind {
    case .function: begin(.function, node, node.children[1])
    case .whileLoop, .numericFor, .genericFor:
      if let block = node.children.last { begin(.branch, block, block) }
    case .ifStatement:
      for (index, child) in node.children.enumerated() where index % 2 == 1 || index == node.children.count - 1 {
        begin(.branch, child, child)
      }
      for child in node.children { visit(child) }
      if node.children.count % 2 == 0 {
        let end = node.range.upperBound - 3
        let number = first + parts.count
        parts.append(CoveredPart(number: number, kind: .branch, line: node.line, range: end..<end))
        insert(" else __covered(\(number)) ", at: end)
      }
      return
    case .binary where node.text == "and" || node.text == "or":
      let right = node.children[1]
      insert("(__covered(\(part(.branch, right))) and (", at: right.range.lowerBound)
      visit(node.children[0])
      visit(right)
      insert("))", at: right.range.upperBound)
      return
    default: break
    }
    for child in node.children { visit(child) }
  }
}

/// Adds the runs of a line to a `Coverage`, the context.
func addRuns(context: UnsafeMutableRawPointer?, path: rb_slice, line: Int32, runs: UInt64) {
  guard let context else { return }
  Unmanaged<Coverage>.fromOpaque(context).takeUnretainedValue().add(runs, line: Int(line), of: path.text)
}
