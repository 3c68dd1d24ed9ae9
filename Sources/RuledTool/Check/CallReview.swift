internal import RuledCore
internal import RuledLua

/// Finds calls in one file that give what a function does not take, or not all that it needs, members that a module does not have, and
/// plugins that `peek` names and that do not exist.
struct CallReview {
  private(set) var findings: [Finding] = []

  private let file: SourceFile
  private let functions: FileFunctions
  /// What the plugin's modules give, by name; nil for one that is not known.
  private let modules: [String: ModuleExports]
  /// The names of all plugins.
  private let plugins: [String]

  private static let host = Dictionary(
    uniqueKeysWithValues: RuleLibrary.functions.map { ($0.name, Signature($0)) })
  /// Functions whose missing arguments are a finding of another kind.
  private static let judgedElsewhere: Set<String> = ["decide"]

  init(_ file: SourceFile, _ tree: SyntaxTree, modules: [String: ModuleExports], plugins: [String]) {
    self.file = file
    self.modules = modules
    self.plugins = plugins
    functions = FileFunctions(tree)
    visit(tree.root)
  }

  private mutating func visit(_ node: SyntaxNode) {
    switch node.kind {
    case .index:
      let key = node.children[1]
      if let name = key.stringValue { review(member: name, of: node.children[0], line: key.line, key.unquotedRange) }
    case .methodCall:
      review(member: node.text, of: node.children[0], line: node.line, node.mark)
      if let module = functions.module(of: node.children[0]), let known = modules[module]?.members[node.text] {
        review(node, known, name: "\(module):\(node.text)", isMethod: true)
      }
    case .call: review(call: node)
    default: break
    }
    for child in node.children { visit(child) }
  }

  private mutating func review(member name: String, of object: SyntaxNode, line: Int, _ range: Range<Int>) {
    guard let module = functions.module(of: object), let exports = modules[module], !exports.members.keys.contains(name)
    else { return }
    let names = exports.members.keys.sorted(), near = NearestName.find(name, in: names)
    let all = names.isEmpty ? "; it has none" : "; it has \(names.joined(separator: ", "))"
    let message = "module '\(module)' has no member '\(name)'" + (near.map { "; did you mean '\($0)'?" } ?? all)
    let fix = near.flatMap { isOneEdit(name, $0) ? Finding.Fix(range: range, text: $0) : nil }
    findings.append(Finding(file: file.path, line: line, message: message, code: .unknownMember, fix: fix))
  }

  private mutating func review(call node: SyntaxNode) {
    let function = node.children[0]
    if let name = Self.hostName(function), let known = Self.host[name] {
      review(node, known, name: name, isMethod: false)
      if name == "peek" { review(peek: node.children[1].children.first) }
    } else if let local = function.local, let body = functions.bodies[local] {
      review(node, Signature(body, in: file.text), name: function.text, isMethod: false)
    } else if function.kind == .index, let module = functions.module(of: function.children[0]),
      let member = function.children[1].stringValue, let known = modules[module]?.members[member]
    {
      review(node, known, name: "\(module).\(member)", isMethod: false)
    }
  }

  private mutating func review(_ call: SyntaxNode, _ known: Signature?, name: String, isMethod: Bool) {
    let given = call.children[1].children
    let isOpen = given.last.map { [.call, .methodCall, .vararg].contains($0.kind) } ?? false
    let count = given.count - (isOpen ? 1 : 0) + (isMethod ? 1 : 0)
    guard let problem = known?.problem(of: name, count: count, isOpen: isOpen) else { return }
    if Self.judgedElsewhere.contains(name), problem.contains("needs") { return }
    add(call, .wrongArguments, problem, nil)
  }

  private mutating func review(peek argument: SyntaxNode?) {
    guard let argument, let name = argument.stringValue, !plugins.contains(name) else { return }
    let near = NearestName.find(name, in: plugins)
    add(
      argument, .unknownName, "there is no plugin '\(name)' for peek\(NearestName.hint(name, in: plugins))",
      near.flatMap { isOneEdit(name, $0) ? Finding.Fix(range: argument.unquotedRange, text: $0) : nil })
  }

  private mutating func add(_ node: SyntaxNode, _ code: Finding.Code, _ message: String, _ fix: Finding.Fix?) {
    findings.append(Finding(file: file.path, line: node.line, message: message, code: code, fix: fix))
  }

  /// The name of a function of the host, such as `decide` or `timer.set`.
  static func hostName(_ function: SyntaxNode) -> String? {
    if let name = function.globalName { return name }
    guard function.kind == .index, let table = function.children[0].globalName else { return nil }
    return function.children[1].stringValue.map { "\(table).\($0)" }
  }
}
