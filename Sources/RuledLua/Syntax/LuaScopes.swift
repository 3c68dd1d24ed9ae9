/// The variables that are visible at a place of a text while it is read.
struct LuaScopes {
  private(set) var locals: [SyntaxTree.Local] = []
  private var visible: [Int] = []
  private var visibleByName: [String: [Int]] = [:]
  /// How many variables were visible where each open block begins.
  private var blocks: [Int] = []

  mutating func openBlock() { blocks.append(visible.count) }

  mutating func closeBlock() {
    let first = blocks.removeLast()
    for local in visible[first...] { visibleByName[locals[local].name]?.removeLast() }
    visible.removeSubrange(first...)
  }

  @discardableResult
  mutating func declare(_ name: String, isParameter: Bool = false) -> Int {
    locals.append(.init(name: name, isParameter: isParameter))
    visible.append(locals.count - 1)
    visibleByName[name, default: []].append(locals.count - 1)
    return locals.count - 1
  }

  func find(_ name: String) -> Int? { visibleByName[name]?.last }
}
