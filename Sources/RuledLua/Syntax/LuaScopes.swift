/// The variables and labels that are visible at a place of a text while it is read (lparser.c).
struct LuaScopes {
  private struct Jump {
    let name: String
    let line: Int
    /// How many variables are visible at the jump, or at the end of the block that it has left.
    var depth: Int
    var hasLabel = false
  }

  private struct Block {
    let firstLabel: Int
    let firstJump: Int
    let depth: Int
    let isLoop: Bool
  }

  private struct Function {
    let isVararg: Bool
    let firstVariable: Int
    let firstJump: Int
    /// The names of the labels that are visible.
    var labels: Set<String> = []
  }

  /// How many local variables a function may have at once.
  private static let mostLocals = 200

  private(set) var locals: [SyntaxTree.Local] = []
  private var visible: [Int] = []
  private var visibleByName: [String: [Int]] = [:]
  /// The labels of the open blocks.
  private var labels: [String] = []
  /// The jumps of the open functions.
  private var jumps: [Jump] = []
  /// The jumps without a label, by its name.
  private var waiting: [String: [Int]] = [:]
  private var blocks: [Block] = []
  private var functions: [Function] = []

  /// Whether `...` has a value here.
  var isVararg: Bool { functions.last?.isVararg ?? false }

  mutating func openFunction(isVararg: Bool) {
    functions.append(Function(isVararg: isVararg, firstVariable: visible.count, firstJump: jumps.count))
    openBlock()
  }

  mutating func closeFunction() throws(SyntaxError) {
    try closeBlock()
    let first = functions.removeLast().firstJump
    if let jump = jumps[first...].first(where: { !$0.hasLabel }) {
      throw SyntaxError(
        line: jump.line,
        message: jump.name == "break"
          ? "break outside a loop at line \(jump.line)" : "no visible label '\(jump.name)' for goto")
    }
    jumps.removeSubrange(first...)
  }

  mutating func openBlock(isLoop: Bool = false) {
    blocks.append(Block(firstLabel: labels.count, firstJump: jumps.count, depth: visible.count, isLoop: isLoop))
  }

  mutating func closeBlock() throws(SyntaxError) {
    let block = blocks.removeLast()
    for local in visible[block.depth...] { visibleByName[locals[local].name]?.removeLast() }
    visible.removeSubrange(block.depth...)
    for label in labels[block.firstLabel...] { functions[functions.count - 1].labels.remove(label) }
    labels.removeSubrange(block.firstLabel...)
    for index in block.firstJump..<jumps.count { jumps[index].depth = min(jumps[index].depth, block.depth) }
    if block.isLoop { _ = takeJumps(to: "break", since: block.firstJump) }
  }

  /// Declares a variable and returns its index; a loop's hidden variables have no name.
  @discardableResult
  mutating func declare(
    _ name: String, line: Int, isParameter: Bool = false, isConstant: Bool = false
  ) throws(SyntaxError) -> Int {
    if let function = functions.last, visible.count - function.firstVariable >= Self.mostLocals {
      throw SyntaxError(line: line, message: "too many local variables (limit is 200) in function")
    }
    locals.append(.init(name: name, line: line, isParameter: isParameter, isConstant: isConstant))
    visible.append(locals.count - 1)
    visibleByName[name, default: []].append(locals.count - 1)
    return locals.count - 1
  }

  /// The visible variable of that name.
  func find(_ name: String) -> Int? { visibleByName[name]?.last }

  // MARK: Jumps

  /// Notes a `goto` or, as a jump to `break`, a `break`.
  mutating func jump(to name: String, line: Int) {
    guard functions.last?.labels.contains(name) != true else { return }
    waiting[name, default: []].append(jumps.count)
    jumps.append(Jump(name: name, line: line, depth: visible.count))
  }

  /// Refuses a label of a name that is visible.
  func checkLabel(_ name: String, line: Int) throws(SyntaxError) {
    guard functions.last?.labels.contains(name) == true else { return }
    throw SyntaxError(line: line, message: "label '\(name)' already defined")
  }

  /// Declares a label; `isLast` if no statement follows it in its block.
  mutating func label(_ name: String, isLast: Bool) throws(SyntaxError) {
    guard let block = blocks.last else { return }
    let depth = isLast ? block.depth : visible.count
    labels.append(name)
    functions[functions.count - 1].labels.insert(name)
    for jump in takeJumps(to: name, since: block.firstJump) where jump.depth < depth {
      let local = locals[visible[jump.depth]].name
      throw SyntaxError(
        line: jump.line, message: "<goto \(name)> at line \(jump.line) jumps into the scope of local '\(local)'")
    }
  }

  /// Takes the jumps to that label that wait for it since the one at `first`.
  private mutating func takeJumps(to name: String, since first: Int) -> [Jump] {
    var taken: [Jump] = []
    while let last = waiting[name]?.last, last >= first {
      waiting[name]?.removeLast()
      jumps[last].hasLabel = true
      taken.append(jumps[last])
    }
    return taken.reversed()
  }
}
