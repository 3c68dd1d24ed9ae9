import Synchronization

/// The parts of a Lua file that are read besides Lua's own parser: calls, and the functions that may be a rule's `when`, for explanations.
///
/// The text is parsed once, when the file is first loaded, for all VMs that load it.
final class SourceFunctions: Sendable {
  /// On which lines a function begins and ends.
  struct Lines: Hashable, Sendable {
    let first: Int
    let last: Int
  }

  struct Found: Sendable {
    /// The functions by their lines; of several with the same lines, the one that is the value of a field `when`.
    let whens: [Lines: WhenText]
    let calls: SourceCalls
  }

  private let known = Mutex<Result<Found, SyntaxError>?>(nil)
  private let knownWords = Mutex<Set<String>?>(nil)

  /// The names and strings that are written in a text, up to its first error.
  func words(_ text: [UInt8]) -> Set<String> {
    knownWords.withLock { known in
      if let known { return known }
      var words: Set<String> = []
      var lexer = LuaLexer(text)
      while let token = try? lexer.next(), token.kind != .end {
        if token.kind == .name || token.kind == .string { words.insert(token.text) }
      }
      known = words
      return words
    }
  }

  /// The functions and calls of a text.
  ///
  /// - Complexity: O(*n*) in the text, times the levels of functions that use each other's variables.
  func read(_ text: [UInt8]) -> Result<Found, SyntaxError> {
    known.withLock { known in
      if let known { return known }
      let found: Result<Found, SyntaxError>
      do throws(SyntaxError) {
        let tree = try SyntaxTree(parsing: text)
        var search = FunctionSearch(text, tree)
        found = .success(Found(whens: search.functions(), calls: SourceCalls(tree, text)))
      } catch { found = .failure(error) }
      known = found
      return found
    }
  }
}

/// A walk over the tree of a file that notes its functions and the variables that each uses from outside.
private struct FunctionSearch {
  /// How many variables of the file a `when` may use; Lua itself allows 200.
  private static let mostNames = 150

  /// The functions with the same lines.
  private struct Candidates {
    var fields: [WhenText] = []
    var others = 0
    var last: WhenText?

    /// The function that must be meant; nil if it is not certain.
    var only: WhenText? { fields.count == 1 ? fields[0] : fields.isEmpty && others == 1 ? last : nil }
  }

  private let text: [UInt8]
  private let tree: SyntaxTree
  private let lines: LineTable
  /// Where each variable is first named.
  private var firstUses: [Int]
  private var found: [SourceFunctions.Lines: Candidates] = [:]
  /// The variables that the open functions use.
  private var used: [Set<Int>] = []

  init(_ text: [UInt8], _ tree: SyntaxTree) {
    self.text = text
    self.tree = tree
    lines = LineTable(text)
    var firstUses = Array(repeating: Int.max, count: tree.locals.count)
    tree.root.forEach { node in
      if let local = node.local { firstUses[local] = min(firstUses[local], node.range.lowerBound) }
    }
    self.firstUses = firstUses
  }

  mutating func functions() -> [SourceFunctions.Lines: WhenText] {
    visit(tree.root, isField: false)
    return found.compactMapValues(\.only)
  }

  private mutating func visit(_ node: SyntaxNode, isField: Bool) {
    if let local = node.local, !used.isEmpty { used[used.count - 1].insert(local) }
    if node.kind == .function { used.append([]) }
    for (index, child) in node.children.enumerated() {
      visit(child, isField: node.kind == .namedField && index == 1 && node.children[0].stringValue == "when")
    }
    if node.kind == .function { note(node, isField: isField) }
  }

  /// Notes a function whose parts were visited.
  private mutating func note(_ function: SyntaxNode, isField: Bool) {
    let outer = used.removeLast().filter { firstUses[$0] < function.range.lowerBound }
    if !used.isEmpty { used[used.count - 1].formUnion(outer) }
    let place = SourceFunctions.Lines(first: function.line, last: lines.line(at: function.range.upperBound - 1))
    let names = Set(outer.map { tree.locals[$0].name }).sorted()
    let when = names.count <= Self.mostNames ? WhenText(text, function, using: names) : nil
    if isField, let when {
      found[place, default: Candidates()].fields.append(when)
    } else {
      found[place, default: Candidates()].others += 1
      found[place]?.last = when
    }
  }
}
