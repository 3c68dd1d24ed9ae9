import RuledCore

/// The text of a rule's `when`, rewritten so that it records the values of its parts, with the same meaning and on the same lines.
///
/// Each operand of an `and` that is returned is such a part, and so are the values in it and in the conditions of `if`.
struct WhenText: Sendable {
  /// A part whose value is recorded.
  struct Part: Sendable, Equatable {
    /// Its bytes in the file.
    let range: Range<Int>
    let line: Int
    /// The number of its condition: an operand that is returned, or the condition of an `if`.
    let condition: Int
    /// Whether it is the whole operand, whose value the function may return.
    let isResult: Bool
    /// Whether it is a constant, which explains nothing.
    let isConstant: Bool
  }

  /// How many empty lines stand before the rewritten text.
  let linesBefore: Int
  /// The name of the function that takes the number and the value of a part, and returns the value; the text has no such name.
  let recorder: String
  /// The parts, by their numbers.
  private(set) var parts: [Part] = []
  private let source: [UInt8]
  /// From the parameters to `end`.
  private let range: Range<Int>
  /// The variables of the file that the function uses.
  private let names: [String]
  private var conditions = 0
  /// How many jumps Lua follows to compile each `if`: from each branch over those before it, twice.
  private var jumps = 0

  init(_ source: [UInt8], _ function: SyntaxNode, using names: [String]) {
    self.source = source
    self.names = names
    linesBefore = max(function.line - 1, 0)
    range = function.children[0].range.lowerBound..<function.range.upperBound
    recorder = Self.unusedName(in: source[range], names)
    markReturns(in: function.children[1])
    function.forEach { node in
      if node.kind == .ifStatement { jumps += node.children.count * node.children.count / 2 }
    }
  }

  /// The bytes of the rewritten text that Lua has to compile, without the recording calls; a jump that it follows takes the time of one.
  var bytesToCompile: Int { linesBefore + range.count + jumps }

  /// A part as it is written, on one line.
  func text(of part: Part) -> String {
    source[part.range].text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  /// A name that occurs neither in a text nor among some names, so that nothing there can call its function, or take its place.
  private static func unusedName(in text: ArraySlice<UInt8>, _ names: [String]) -> String {
    let stem = "__part"
    let words = text.split { !($0 == UInt8(ascii: "_") || $0.isLetter || $0.isDigit) }
    let used = Set(words.filter { $0.starts(with: stem.utf8) }.map(\.text) + names)
    var number = 0
    while used.contains("\(stem)\(number)") { number += 1 }
    return "\(stem)\(number)"
  }

  /// A text that returns the function when it is called with the function that records.
  var rewritten: [UInt8] {
    var insertions: [(offset: Int, order: Int, text: String)] = []
    for (number, part) in parts.enumerated() {
      insertions.append((part.range.lowerBound, number + 1, "\(recorder)(\(number), "))
      insertions.append((part.range.upperBound, -number - 1, ")"))
    }
    var text = Array("local \(([recorder] + names).joined(separator: ", ")) = ... return function".utf8)
    var copied = range.lowerBound
    for insertion in insertions.sorted(by: { ($0.offset, $0.order) < ($1.offset, $1.order) }) {
      text += source[copied..<insertion.offset]
      text += insertion.text.utf8
      copied = insertion.offset
    }
    return text + source[copied..<range.upperBound]
  }

  // MARK: Parts

  /// Marks the values that a block returns, without those of functions in it.
  private mutating func markReturns(in node: SyntaxNode) {
    switch node.kind {
    case .function: return
    case .returnStatement:
      guard let list = node.children.first, list.children.count == 1 else { return }
      markOperands(of: list.children[0])
    case .ifStatement:
      for (index, child) in node.children.enumerated() {
        if index % 2 == 0, index < node.children.count - 1 {
          conditions += 1
          markValues(in: child, of: conditions)
        } else {
          markReturns(in: child)
        }
      }
    default:
      for child in node.children { markReturns(in: child) }
    }
  }

  private mutating func markOperands(of node: SyntaxNode) {
    if node.kind == .binary, node.text == "and" {
      for child in node.children { markOperands(of: child) }
      return
    }
    if node.kind == .parenthesis, let inner = node.children.first, inner.kind == .binary, inner.text == "and" {
      return markOperands(of: inner)
    }
    conditions += 1
    let condition = conditions
    mark(node, of: condition, isResult: true)
    markValues(in: node, of: condition)
  }

  private mutating func markValues(in node: SyntaxNode, of condition: Int) {
    switch node.kind {
    case .binary where ["and", "or", "==", "~=", "<", ">", "<=", ">="].contains(node.text), .parenthesis:
      for child in node.children { markValues(in: child, of: condition) }
    case .unary where node.text == "not":
      for child in node.children { markValues(in: child, of: condition) }
    default:
      guard !node.isConstant, node.kind != .function, node.kind != .table else { return }
      mark(node, of: condition, isResult: false)
    }
  }

  private mutating func mark(_ node: SyntaxNode, of condition: Int, isResult: Bool) {
    parts.append(
      Part(range: node.range, line: node.line, condition: condition, isResult: isResult, isConstant: node.isConstant))
  }
}

extension SyntaxNode {
  /// Whether it is written as a constant.
  fileprivate var isConstant: Bool { [.nil, .true, .false, .number, .string].contains(kind) }
}
