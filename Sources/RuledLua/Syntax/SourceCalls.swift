import CLuaBridge
import RuledCore

/// A call of a global with a constant text.
package struct GlobalUse: Sendable, Equatable {
  package let name: String
  /// The text, its first argument.
  package let argument: String
  package let line: Int
  let isInFunction: Bool
}

/// The calls of a Lua file that are checked before they run, or named when they fail.
struct SourceCalls: Sendable {
  /// A function of Lua that goes over a table, and the line of a call.
  struct Place: Hashable, Sendable {
    let function: String
    let line: Int
  }

  /// The texts of the arguments of `ipairs` and `pairs`; nil where a line has several calls.
  private(set) var arguments: [Place: String?] = [:]
  /// The calls of globals with a constant text, in their order.
  private(set) var uses: [GlobalUse] = []
  /// The first invalid pattern of `text.find_re` among the patterns that stand in the text.
  private(set) var wrongPattern: SyntaxError?

  private static let longestArgument = 60
  private static let constants: [SyntaxNode.Kind] = [.nil, .true, .false, .number, .string, .table]

  init(_ tree: SyntaxTree, _ text: [UInt8]) {
    visit(tree.root, isInFunction: false, FileValues(tree), text)
  }

  private mutating func visit(_ node: SyntaxNode, isInFunction: Bool, _ values: FileValues, _ text: [UInt8]) {
    if node.kind == .call {
      note(node.children[0], node.arguments, line: node.line, isInFunction: isInFunction, values, text)
    }
    for child in node.children {
      visit(child, isInFunction: isInFunction || node.kind == .function, values, text)
    }
  }

  private mutating func note(
    _ function: SyntaxNode, _ given: [SyntaxNode], line: Int, isInFunction: Bool, _ values: FileValues, _ text: [UInt8]
  ) {
    func constant(_ index: Int) -> String? {
      given.indices.contains(index) ? values.text(given[index]) : nil
    }
    if let name = values.value(function, .name)?.globalName, let argument = constant(0) {
      uses.append(.init(name: name, argument: argument, line: line, isInFunction: isInFunction))
    }
    if let name = function.globalName, name == "ipairs" || name == "pairs", let argument = given.first {
      let place = Place(function: name, line: line)
      let isTelling = argument.range.count <= Self.longestArgument && !Self.constants.contains(argument.kind)
      let written = isTelling ? text[argument.range].text : nil
      arguments.updateValue(arguments.keys.contains(place) ? nil : written, forKey: place)
    }
    guard wrongPattern == nil, function.kind == .index, function.children[0].globalName == "text",
      function.children[1].stringValue == "find_re", let pattern = constant(1)
    else { return }
    wrongPattern = Self.problem(of: pattern).map { why in
      SyntaxError(line: given[1].line, message: "text.find_re's pattern is wrong: \(why)")
    }
  }

  /// Why a text is not a valid pattern; nil if it is.
  private static func problem(of pattern: String) -> String? {
    var isPattern = false
    let why = pattern.withSlice { pattern in
      String(unsafeUninitializedCapacity: 256) { text in
        text.withMemoryRebound(to: CChar.self) { text in
          isPattern = rb_check_pattern(pattern, text.baseAddress, text.count)
        }
        return isPattern ? 0 : text.firstIndex(of: 0) ?? 0
      }
    }
    return isPattern ? nil : why
  }
}
