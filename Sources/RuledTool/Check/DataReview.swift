internal import RuledLua

/// Notes in one file which members of events' data rules read, and which members calls give to the events that they make.
struct DataReview {
  /// A read of `event.data.member`, or of a member of that, in a rule.
  struct Read {
    /// The types that the event may have.
    let types: [String]
    /// The names that lead to the member, and its own.
    let path: [String]
    let line: Int
    /// The bytes of the member's name.
    let range: Range<Int>
  }

  /// The data that a call makes an event with.
  struct Made {
    let type: String
    /// The data's members with their values.
    let members: [(name: String, value: SyntaxNode)]
    let line: Int
  }

  private(set) var reads: [Read] = []
  /// The events that are made with data whose members are known, in order.
  private(set) var made: [Made] = []

  /// Which variables hold events and their data.
  let events: EventFlow

  init(_ tree: SyntaxTree) {
    events = EventFlow(tree)
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
    case "send", "publish": note(arguments, type: 1)
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
    let members = data.children.compactMap { field in
      field.kind == .namedField ? field.children[0].stringValue.map { (name: $0, value: field.children[1]) } : nil
    }
    guard data.kind == .table, members.count == data.children.count else { return }
    made.append(Made(type: name, members: members, line: arguments[type].line))
  }

  private mutating func note(index node: SyntaxNode) {
    guard let (types, path) = events.data(node), let key = node.children.last, !path.isEmpty else { return }
    reads.append(Read(types: types, path: path, line: key.line, range: key.unquotedRange))
  }
}
