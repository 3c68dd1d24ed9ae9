import CLuaBridge
package import RuledCore

/// What made a rule's `when` false.
package struct FalseCondition: Sendable, Equatable {
  /// The operand that was false, as it is written; `return false` if that is what the function says.
  package let text: String
  /// The file, relative to the rules folder.
  package let file: String
  /// The line.
  package let line: Int
  /// The values in it that are no tables, in order.
  package let values: [(text: String, value: JSONValue)]

  package static func == (left: Self, right: Self) -> Bool {
    left.text == right.text && left.file == right.file && left.line == right.line
      && left.values.elementsEqual(right.values) { $0 == $1 }
  }
}

/// The rewritten `when` of each rule that was explained, with its file.
typealias KnownWhens = [Int: (text: WhenText, file: String)?]

extension PluginVM {
  /// As `run(rule:)`, and records what the rule's `when` looks at.
  package func explain(rule: Int) -> CallResult {
    guard let (when, file) = when(of: rule) else { return run(rule: rule) }
    let isReplaced = when.text.withView { text in
      file.withSlice { path in rb_replace_when(handle, Int32(rule), rb_slice(text), path) }
    }
    guard isReplaced else { return run(rule: rule) }
    defer { rb_restore_when(handle, Int32(rule)) }
    return run(rule: rule)
  }

  /// What made the `when` of a rule false that `explain` has run after the first `first` operations; nil if that can't be told.
  package func falseCondition(of rule: Int, from first: Int) -> FalseCondition? {
    guard let (when, file) = when(of: rule) else { return nil }
    var result: WhenText.Part?
    var recorded: [(part: WhenText.Part, value: JSONValue?)] = []
    for operation in operations[first...] {
      guard case .part(let number, let value, let isString) = operation, when.parts.indices.contains(number) else {
        continue
      }
      let part = when.parts[number]
      if part.isResult { result = part }
      recorded.append((part, Self.value(value, isString: isString)))
    }
    guard let result else { return nil }
    let condition =
      result.isConstant ? recorded.last { !$0.part.isResult }?.part.condition : result.condition
    var values: [(text: String, value: JSONValue)] = []
    for (part, value) in recorded where part.condition == condition && !part.isResult {
      guard let value else { continue }
      values.removeAll { $0.text == part.text }
      values.append((part.text, value))
    }
    return FalseCondition(
      text: result.isConstant ? "return \(result.text)" : result.text, file: file, line: result.line, values: values)
  }

  private func when(of rule: Int) -> (text: WhenText, file: String)? {
    if let known = knownWhens[rule] { return known }
    let found = findWhen(of: rule)
    knownWhens[rule] = .some(found)
    return found
  }

  private func findWhen(of rule: Int) -> (text: WhenText, file: String)? {
    var path = rb_slice()
    var first: Int32 = 0
    var last: Int32 = 0
    guard rb_find_when(handle, Int32(rule), &path, &first, &last) else { return nil }
    let name = path.text
    guard let file = (source.modules + source.library).first(where: { $0.path == name }),
      let tree = try? SyntaxTree(parsing: file.text),
      let text = WhenText(file.text, in: tree, from: Int(first), to: Int(last), recorder: RB_PART_FUNCTION)
    else { return nil }
    return (text, name)
  }

  /// The value that the VM shows as `text`; nil for a table or a function.
  private static func value(_ text: Operation.Bytes, isString: Bool) -> JSONValue? {
    let text = String(decoding: text, as: UTF8.self)
    if isString { return .string(text) }
    if text == "nil" { return .null }
    if let number = Double(text), !number.isFinite { return .string(text) }
    return (try? JSONValue(parsing: text)) ?? (Double(text) == nil ? nil : .string(text))
  }
}

/// The text of a rule's `when`, rewritten so that it records the values of its parts, with the same meaning and on the same lines.
///
/// Each operand of an `and` that is returned is such a part, and so are the values in it and in the conditions of `if`.
struct WhenText {
  /// A part whose value is recorded.
  struct Part: Equatable {
    /// As it is written, on one line.
    let text: String
    /// The line on which it begins.
    let line: Int
    /// Which condition it belongs to: an operand that is returned, or what an `if` asks.
    let condition: Int
    /// Whether it is the whole operand, whose value may be what the function returns.
    let isResult: Bool
    /// Whether it is a constant, which explains nothing.
    let isConstant: Bool
  }

  /// How many variables of the file a `when` may use; Lua itself allows 200.
  private static let mostNames = 150

  /// A text that returns the function when it is called with the function that records.
  private(set) var text: [UInt8] = []
  /// The parts, by their numbers.
  private(set) var parts: [Part] = []
  private let source: [UInt8]
  private var insertions: [(offset: Int, order: Int, text: String)] = []
  private var conditions = 0

  /// The function that begins and ends on those lines of a file; nil if there is not exactly one, or if it can't be rewritten.
  ///
  /// `recorder` names the function that takes the number and the value of a part, and returns the value.
  init?(_ source: [UInt8], in tree: SyntaxTree, from first: Int, to last: Int, recorder: String) {
    self.source = source
    var found: [(node: SyntaxNode, isWhen: Bool)] = []
    Self.visit(tree.root, isWhen: false) { node, isWhen in
      if node.line == first, Self.line(of: node.range.upperBound, in: source) == last { found.append((node, isWhen)) }
    }
    let named = found.filter(\.isWhen)
    guard let function = named.count == 1 ? named.first?.node : found.count == 1 ? found.first?.node : nil else {
      return nil
    }
    let names = Self.outerNames(of: function, in: tree)
    guard names.count <= Self.mostNames else { return nil }
    markReturns(in: function.children[1], recorder)
    let head = ([recorder] + names).joined(separator: ", ")
    text = Array(
      (String(repeating: "\n", count: max(first - 1, 0)) + "local \(head) = ... return function").utf8)
    append(from: function.children[0].range.lowerBound, to: function.range.upperBound)
  }

  // MARK: The function

  /// Calls `body` with each function in a part, and whether it is the value of a field `when`.
  private static func visit(_ node: SyntaxNode, isWhen: Bool, _ body: (SyntaxNode, Bool) -> Void) {
    if node.kind == .function { body(node, isWhen) }
    for (index, child) in node.children.enumerated() {
      let isField = node.kind == .namedField && index == 1 && node.children[0].stringValue == "when"
      visit(child, isWhen: isField, body)
    }
  }

  /// The line before whose end an offset is, from 1.
  private static func line(of offset: Int, in text: [UInt8]) -> Int {
    1 + text[..<offset].count { $0 == UInt8(ascii: "\n") }
  }

  /// The variables of the file that the function uses: those that are first named before it.
  private static func outerNames(of function: SyntaxNode, in tree: SyntaxTree) -> [String] {
    var used: Set<Int> = []
    function.forEach { node in if let local = node.local { used.insert(local) } }
    var first: [Int: Int] = [:]
    tree.root.forEach { node in
      guard let local = node.local, used.contains(local) else { return }
      first[local] = min(first[local] ?? .max, node.range.lowerBound)
    }
    let outer = used.filter { first[$0] ?? 0 < function.range.lowerBound }.map { tree.locals[$0].name }
    return Set(outer).sorted()
  }

  // MARK: Parts

  /// Marks what a block returns, but not what functions in it return.
  private mutating func markReturns(in node: SyntaxNode, _ recorder: String) {
    switch node.kind {
    case .function: return
    case .returnStatement:
      guard let list = node.children.first, list.children.count == 1 else { return }
      markOperands(of: list.children[0], recorder)
    case .ifStatement:
      for (index, child) in node.children.enumerated() {
        if index % 2 == 0, index < node.children.count - 1 {
          conditions += 1
          markValues(in: child, of: conditions, recorder)
        } else {
          markReturns(in: child, recorder)
        }
      }
    default:
      for child in node.children { markReturns(in: child, recorder) }
    }
  }

  private mutating func markOperands(of node: SyntaxNode, _ recorder: String) {
    if node.kind == .binary, node.text == "and" {
      for child in node.children { markOperands(of: child, recorder) }
      return
    }
    if node.kind == .parenthesis, let inner = node.children.first, inner.kind == .binary, inner.text == "and" {
      return markOperands(of: inner, recorder)
    }
    conditions += 1
    let condition = conditions
    mark(node, of: condition, isResult: true, recorder)
    markValues(in: node, of: condition, recorder)
  }

  private mutating func markValues(in node: SyntaxNode, of condition: Int, _ recorder: String) {
    switch node.kind {
    case .binary where ["and", "or", "==", "~=", "<", ">", "<=", ">="].contains(node.text), .parenthesis:
      for child in node.children { markValues(in: child, of: condition, recorder) }
    case .unary where node.text == "not":
      for child in node.children { markValues(in: child, of: condition, recorder) }
    default:
      guard !node.isConstant, node.kind != .function, node.kind != .table else { return }
      mark(node, of: condition, isResult: false, recorder)
    }
  }

  private mutating func mark(_ node: SyntaxNode, of condition: Int, isResult: Bool, _ recorder: String) {
    let words = String(decoding: source[node.range], as: UTF8.self).split(whereSeparator: \.isWhitespace)
    insert("\(recorder)(\(parts.count), ", at: node.range.lowerBound, isEnd: false)
    parts.append(
      Part(
        text: words.joined(separator: " "), line: node.line, condition: condition, isResult: isResult,
        isConstant: node.isConstant))
    insert(")", at: node.range.upperBound, isEnd: true)
  }

  private mutating func insert(_ text: String, at offset: Int, isEnd: Bool) {
    insertions.append((offset, isEnd ? -insertions.count : insertions.count, text))
  }

  /// Appends a part of the file with what is inserted in it.
  private mutating func append(from start: Int, to end: Int) {
    var copied = start
    for insertion in insertions.sorted(by: { ($0.offset, $0.order) < ($1.offset, $1.order) }) {
      text += source[copied..<insertion.offset]
      text += Array(insertion.text.utf8)
      copied = insertion.offset
    }
    text += source[copied..<end]
  }
}

extension SyntaxNode {
  /// Whether it is written as a constant.
  fileprivate var isConstant: Bool { [.nil, .true, .false, .number, .string].contains(kind) }
}
