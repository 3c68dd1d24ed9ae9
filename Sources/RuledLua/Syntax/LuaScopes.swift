/// The variables and labels that are visible at a place of a text while it is read (lparser.c).
struct LuaScopes {
  private struct Label {
    let name: String
    let depth: Int
  }

  private struct Jump {
    let name: String
    let line: Int
    /// How many variables are visible at the jump, or at the end of the block that it has left.
    var depth: Int
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
    let firstLabel: Int
    let firstBlock: Int
  }

  /// How many local variables a function may have at once.
  private static let mostLocals = 200

  /// All variables so far.
  private(set) var locals: [SyntaxTree.Local] = []
  private var visible: [(name: String, local: Int)] = []
  private var labels: [Label] = []
  private var jumps: [Jump] = []
  private var blocks: [Block] = []
  private var functions: [Function] = []

  /// Whether `...` has a value here.
  var isVararg: Bool { functions.last?.isVararg ?? false }

  mutating func openFunction(isVararg: Bool) {
    functions.append(
      Function(
        isVararg: isVararg, firstVariable: visible.count, firstLabel: labels.count, firstBlock: blocks.count))
    openBlock()
  }

  mutating func closeFunction() throws(SyntaxError) {
    let firstJump = blocks.last?.firstJump ?? 0
    try closeBlock()
    functions.removeLast()
    guard jumps.count > firstJump else { return }
    let jump = jumps[firstJump]
    throw SyntaxError(
      line: jump.line,
      message: jump.name == "break"
        ? "break outside a loop at line \(jump.line)" : "no visible label '\(jump.name)' for goto")
  }

  mutating func openBlock(isLoop: Bool = false) {
    blocks.append(Block(firstLabel: labels.count, firstJump: jumps.count, depth: visible.count, isLoop: isLoop))
  }

  mutating func closeBlock() throws(SyntaxError) {
    let block = blocks.removeLast()
    visible.removeSubrange(block.depth...)
    labels.removeSubrange(block.firstLabel...)
    for index in block.firstJump..<jumps.count { jumps[index].depth = min(jumps[index].depth, block.depth) }
    if block.isLoop {
      jumps = Array(jumps[..<block.firstJump]) + jumps[block.firstJump...].filter { $0.name != "break" }
    }
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
    visible.append((name, locals.count - 1))
    return locals.count - 1
  }

  /// The visible variable of that name.
  func find(_ name: String) -> Int? { visible.last { $0.name == name }?.local }

  // MARK: Jumps

  /// Notes a `goto` or, as a jump to `break`, a `break`.
  mutating func jump(to name: String, line: Int) {
    let first = functions.last?.firstLabel ?? 0
    guard !labels[first...].contains(where: { $0.name == name }) else { return }
    jumps.append(Jump(name: name, line: line, depth: visible.count))
  }

  /// Refuses a label of a name that is visible.
  func checkLabel(_ name: String, line: Int) throws(SyntaxError) {
    guard labels[(functions.last?.firstLabel ?? 0)...].contains(where: { $0.name == name }) else { return }
    throw SyntaxError(line: line, message: "label '\(name)' already defined")
  }

  /// Declares a label; `isLast` if no statement follows it in its block.
  mutating func label(_ name: String, isLast: Bool) throws(SyntaxError) {
    guard let block = blocks.last else { return }
    let depth = isLast ? block.depth : visible.count
    labels.append(Label(name: name, depth: depth))
    for jump in jumps[block.firstJump...] where jump.name == name && jump.depth < depth {
      throw SyntaxError(
        line: jump.line,
        message: "<goto \(name)> at line \(jump.line) jumps into the scope of local '\(visible[jump.depth].name)'")
    }
    jumps = Array(jumps[..<block.firstJump]) + jumps[block.firstJump...].filter { $0.name != name }
  }
}
