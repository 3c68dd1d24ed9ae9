/// A part of a Lua text: a statement, an expression, or a list of these.
package struct SyntaxNode: Sendable {
  /// The kind of a part; each tells its children.
  package enum Kind: Sendable, Equatable {
    // Statements.
    case block
    /// `local`: a list of names, a list of values.
    case local
    /// A list of targets, a list of values.
    case assignment
    /// A call whose results are not used: the call.
    case callStatement
    case doBlock
    /// The condition, the block.
    case whileLoop
    /// The block, the condition.
    case repeatLoop
    /// The name, the first value, the last, the step if there is one, the block.
    case numericFor
    /// A list of names, a list of values, the block.
    case genericFor
    /// Pairs of a condition and a block, then the block of `else` if there is one.
    case ifStatement
    /// `function a.b:c`: the target, the function.
    case functionStatement
    /// The name, the function.
    case localFunction
    /// A list of values.
    case returnStatement
    case breakStatement
    /// The text is the label's name.
    case gotoStatement
    /// The text is its name.
    case label

    // Expressions.
    case `nil`
    case `true`
    case `false`
    case number
    /// The text is its value.
    case string
    case vararg
    /// The text is the name, `local` tells which variable it is.
    case name
    /// The value, the key; of `a.b` the key is a string.
    case index
    /// The function, the list of arguments.
    case call
    /// The value, the list of arguments; the text is the method's name.
    case methodCall
    /// A list of parameters, the block.
    case function
    /// The text is the operator; both sides.
    case binary
    /// The text is the operator; the value.
    case unary
    /// `( … )`: the value.
    case parenthesis
    case table
    /// A field without a key: the value.
    case positionalField
    /// The key, the value; of `a = 1` the key is a string.
    case namedField
    /// Names, parameters or values, in order.
    case list

    /// Whether it counts as a level of nesting.
    var isLevel: Bool {
      switch self {
      case .block, .table, .call, .methodCall, .index, .parenthesis, .binary, .unary: true
      default: false
      }
    }
  }

  package let kind: Kind
  /// Its bytes in the text.
  package var range: Range<Int>
  /// The line on which it begins, from 1.
  package let line: Int
  /// A name, an operator or a string's value.
  package var text = ""
  /// The bytes of the operator, or of the method's name; empty for others.
  package var mark = 0..<0
  /// The index of the variable in the tree's `locals`; nil for a global.
  package var local: Int?
  /// The depth of levels from it to its deepest place, itself included.
  var levels = 0
  package var children: [SyntaxNode] = []

  /// Calls `body` with this part and all in it, each before its children.
  package func forEach(_ body: (SyntaxNode) -> Void) {
    body(self)
    for child in children { child.forEach(body) }
  }

  package var globalName: String? { kind == .name && local == nil ? text : nil }

  package var stringValue: String? { kind == .string ? text : nil }

  /// The bytes of a name or of a string without its quotes.
  package var unquotedRange: Range<Int> {
    let isQuoted = range.count > text.utf8.count
    return isQuoted ? range.lowerBound + 1..<range.upperBound - 1 : range
  }
}
