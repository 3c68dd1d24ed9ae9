internal import RuledLua

/// Notes in one file which members of events' data rules read, and which members calls give to the events that they make.
struct DataReview {
  /// A read of `event.data.member` in a rule.
  struct Read {
    /// The types that the event may have.
    let types: [String]
    let member: String
    let line: Int
    /// The bytes of the member's name.
    let range: Range<Int>
  }

  /// The data that a call makes an event with.
  struct Made {
    let type: String
    /// The names of the data's members.
    let members: [String]
    /// The line of the call.
    let line: Int
  }

  private(set) var reads: [Read] = []
  /// The events that are made with data whose members can be told, in order.
  private(set) var made: [Made] = []

  /// Which variables hold events and their data.
  private let flow: EventFlow

  init(_ tree: SyntaxTree) {
    flow = EventFlow(tree)
    visit(tree.root)
  }

  private mutating func visit(_ node: SyntaxNode) {
    switch node.kind {
    case .call: note(call: node)
    case .index: note(index: node)
    default: break
    }
    for child in node.children { visit(child) }
  }

  private mutating func note(call node: SyntaxNode) {
    let function = node.children[0], arguments = node.children[1].children
    switch function.globalName {
    case "raise": note(arguments, type: 0)
    case "send": note(arguments, type: 1)
    default: break
    }
    if function.kind == .index, function.children[0].globalName == "timer",
      ["set", "every"].contains(function.children[1].stringValue)
    {
      note(arguments, type: 2)
    }
  }

  private mutating func note(_ arguments: [SyntaxNode], type: Int) {
    guard type < arguments.count, let name = arguments[type].stringValue else { return }
    guard type + 1 < arguments.count else {
      // A call as the last argument may give the data, too; a string does not.
      made.append(Made(type: name, members: [], line: arguments[type].line))
      return
    }
    let data = arguments[type + 1]
    let names = data.children.map { $0.kind == .namedField ? $0.children[0].stringValue : nil }
    guard data.kind == .table, !names.contains(nil) else { return }
    made.append(Made(type: name, members: names.compactMap { $0 }, line: arguments[type].line))
  }

  private mutating func note(index node: SyntaxNode) {
    guard let types = flow.types(ofData: node.children[0]), let member = node.children[1].stringValue else { return }
    let key = node.children[1]
    reads.append(Read(types: types, member: member, line: key.line, range: key.unquotedRange))
  }
}
