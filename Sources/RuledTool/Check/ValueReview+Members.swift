internal import RuledCore
internal import RuledLua

/// Finds unknown members: of events' data, states and settings, of texts, numbers and lists, and of the host's values, such as answers of its
/// functions, requests, effects and arguments of queries.
extension ValueReview {
  mutating func reviewMember(_ node: SyntaxNode) {
    if node.kind == .methodCall { return review(node.text, node, at: node.mark, of: node.children[0]) }
    guard node.kind == .index else { return }
    let object = node.children[0], key = node.children[1]
    if let member = key.stringValue { return review(member, key, at: key.unquotedRange, of: object) }
    guard text(key) == "0" else { return }
    let isList = if case .array? = flow.dataType(of: object) { true } else { false }
    let message = isList ? "\(text(object)) begins at 1" : "lists begin at 1"
    add(key, isList ? .unknownMember : .oddExpression, message, isNote: !isList)
  }

  private mutating func review(_ member: String, _ key: SyntaxNode, at range: Range<Int>, of object: SyntaxNode) {
    if let part = flow.part(object), let problem = flow.declarations.problem(ofMember: member, in: part) {
      return add(key, problem, member, at: range)
    }
    switch flow.type(of: object) {
    case .record(let members) where !members.contains(where: { $0.name == member }):
      let names = members.map(\.name)
      add(
        key, .unknownMember, "\(text(object)) has no member '\(member)'", unknown: member, names,
        otherwise: "it has \(names.isEmpty ? "none" : names.joined(separator: ", "))", at: range)
    case .string where textMembers.contains(member): break
    case let type where [.string, .number, .boolean].contains(type):
      let message = "\(text(object)) is \(type.text) and has no member '\(member)'"
      add(key, .unknownMember, message, unknown: member, type == .string ? textMembers : [], at: range)
    default:
      guard case .array? = flow.dataType(of: object) else { return }
      add(key, .unknownMember, "\(text(object)) is an array and has no member '\(member)'; #list tells its length")
    }
  }
}
