internal import RuledCore
internal import RuledLua

/// Finds calls in one file with too many, too few or unknown arguments, unknown members of modules, and unknown plugins that `peek` names.
struct CallReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  private let values: FileValues
  private let modules: RequiredModules
  private let plugins: [String]
  /// The parameters of local functions that are passed on as options of a module, and which modules get them.
  private var passed: [Int: String] = [:]
  /// The plugin's own settings, if the file declares them.
  private var settings: SyntaxNode?

  /// Functions whose missing arguments are a finding of another kind.
  private static let judgedElsewhere: Set<String> = ["decide"]

  init(_ review: SourceReview, _ modules: RequiredModules, plugins: [String]) {
    file = review.file
    values = review.variables
    self.modules = modules
    self.plugins = plugins
    review.tree.root.forEach { node in
      if node.kind == .call, node.children[0].globalName == "plugin", let plugin = node.arguments.first {
        settings = values.table(plugin).flatMap { table("settings", of: $0) }
      }
      if node.kind == .call, let (argument, module) = options(of: node), let local = argument.local {
        passed[local] = module
      }
    }
    visit(review.tree.root)
  }

  private func exports(_ module: String) -> ModuleExports? { modules.module(module, for: file)?.exports }

  /// `isUsed`: whether the node's results are used, if it is a call.
  private mutating func visit(_ node: SyntaxNode, isUsed: Bool = true) {
    switch node.kind {
    case .index:
      let key = node.children[1]
      if let name = key.stringValue { review(member: name, of: node.children[0], key, key.unquotedRange) }
    case .methodCall:
      review(member: node.text, of: node.children[0], node, node.mark)
      if let module = values.module(of: node.children[0]), let known = exports(module)?.members[node.text] {
        review(node, known, name: "\(module):\(node.text)", isMethod: true)
      }
    case .call: review(call: node, isUsed: isUsed)
    default: break
    }
    // A rule may end with `return f()`, whatever the results of f.
    let isEnd = node.kind == .callStatement || node.kind == .returnStatement
    for child in node.children { visit(child, isUsed: node.kind == .list ? isUsed : !isEnd) }
  }

  private mutating func review(member name: String, of object: SyntaxNode, _ place: SyntaxNode, _ range: Range<Int>) {
    guard let module = values.module(of: object), let exports = exports(module), !exports.members.keys.contains(name)
    else { return }
    add(
      place, .unknownMember, "module '\(module)' has no member '\(name)'", unknown: name, exports.names,
      otherwise: "it has \(exports.names.isEmpty ? "none" : exports.names.listed)", at: range)
  }

  private mutating func review(call node: SyntaxNode, isUsed: Bool) {
    let function = node.children[0]
    reviewOptions(node)
    if let name = values.hostName(function), let known = Signature.host[name] {
      review(node, known, name: name)
      if name == "peek" { review(peek: node.arguments.first) }
    } else if function.local != nil, let body = values.value(function, .function) {
      review(node, Signature(body, in: file.text), name: function.text, isUsed: isUsed)
    } else if function.kind == .index, let module = values.module(of: function.children[0]),
      let member = function.children[1].stringValue, let known = exports(module)?.members[member]
    {
      review(node, known, name: "\(module).\(member)", isUsed: isUsed)
    }
  }

  /// Whether an expression at the end of a list may give any number of values.
  private func mayBeMany(_ node: SyntaxNode) -> Bool {
    guard node.kind == .call, let name = values.hostName(node.children[0]), let known = Signature.host[name] else {
      return [.call, .methodCall, .vararg].contains(node.kind)
    }
    return known.results != 1
  }

  // MARK: Options

  /// The options in a call of a module's function, and the module's name.
  private func options(of call: SyntaxNode) -> (argument: SyntaxNode, module: String)? {
    let function = call.children[0], arguments = call.arguments
    guard function.kind == .index, let module = values.module(of: function.children[0]),
      let member = function.children[1].stringValue, let signature = exports(module)?.members[member] ?? nil,
      let index = signature.parameters.firstIndex(of: "options"), index < arguments.count
    else { return nil }
    return (arguments[index], module)
  }

  /// Finds unknown options in a table that is given to a module, also by way of a local function.
  private mutating func reviewOptions(_ call: SyntaxNode) {
    var given = [options(of: call)].compactMap { $0 }
    if let body = values.value(call.children[0], .function) {
      for (argument, parameter) in zip(call.arguments, body.children[0].children) {
        if let module = parameter.local.flatMap({ passed[$0] }) { given.append((argument, module)) }
      }
    }
    for (argument, name) in given {
      guard let module = exports(name), let value = module.reads.options else { continue }
      review(options: argument, of: name, [(module, value)])
    }
  }

  /// The table of the plugin's own settings that an expression such as `settings.window` is; nil if the file does not declare it.
  private func ownSetting(_ node: SyntaxNode) -> SyntaxNode? {
    if node.globalName == "settings" { return settings }
    return values.member(of: node).flatMap { object, name in ownSetting(object).flatMap { table(name, of: $0) } }
  }

  private func table(_ name: String, of table: SyntaxNode) -> SyntaxNode? {
    let field = table.children.last { $0.kind == .namedField && $0.children[0].stringValue == name }
    return field.flatMap { values.table($0.children[1]) }
  }

  private typealias Place = (module: ModuleExports, value: Int)

  /// Finds members of a table that modules read nowhere; `place` is the option that it is, or nil for the options themselves.
  ///
  /// Of settings, which the plugin may read itself, those that resemble an option are noted.
  private mutating func review(
    options node: SyntaxNode, of module: String, _ start: [Place], at place: String? = nil, isSetting: Bool = false
  ) {
    let own = values.table(node), isSetting = isSetting || own == nil
    guard let table = own ?? ownSetting(node), let places = reached(from: start) else { return }
    func within(_ part: (ParameterReads.Value) -> Int?) -> [Place] {
      places.compactMap { place in part(place.module.reads.values[place.value]).map { (place.module, $0) } }
    }
    let reads = places.map { $0.module.reads.values[$0.value] }
    let elements = within(\.elements), isMap = reads.contains(where: \.isMap)
    let names = reads.count == 1 ? reads[0].names : Set(reads.flatMap(\.names)).sorted()
    guard !names.isEmpty || !elements.isEmpty else { return }
    for field in table.children {
      guard field.kind == .namedField else {
        review(options: field.children[0], of: module, elements, at: place, isSetting: isSetting)
        continue
      }
      guard let name = field.children[0].stringValue else { continue }
      let inner = within { $0.members[name] } + (isMap ? elements : [])
      guard inner.isEmpty else {
        let place = place.map { "\($0).\(name)" } ?? name
        review(options: field.children[1], of: module, inner, at: place, isSetting: isSetting)
        continue
      }
      let what =
        place.map { "option '\($0)' of module '\(module)' has no member" } ?? "module '\(module)' has no option"
      if isSetting {
        let hint = NearestName.hint(name, in: names)
        if !hint.isEmpty { add(field.children[0], .unknownMember, "\(what) '\(name)'\(hint)", isNote: true) }
        continue
      }
      add(
        field.children[0], .unknownMember, "\(what) '\(name)'", unknown: name, names,
        otherwise: names.isEmpty ? "it is a list" : "it has \(names.listed)")
    }
  }

  /// All values that some values of modules become; nil where more may be done with one than the modules' texts tell.
  private func reached(from start: [Place]) -> [Place]? {
    var places = start, next = 0, seen: Set<String> = []
    while next < places.count {
      let (module, index) = places[next], value = module.reads.values[index]
      next += 1
      if value.isOpen { return nil }
      guard seen.insert("\(module.file.path):\(index)").inserted else { continue }
      places += value.parameters.map { (module, $0) }
      for parameter in value.outer {
        guard let other = modules.module(parameter.module, for: module.file)?.exports,
          let index = other.value(of: parameter)
        else { return nil }
        places.append((other, index))
      }
    }
    return places
  }

  private mutating func review(
    _ call: SyntaxNode, _ known: Signature?, name: String, isMethod: Bool = false, isUsed: Bool = false
  ) {
    if isUsed, known?.results == 0 { add(call, .missingReturn, "\(name) returns nothing") }
    let given = call.arguments
    let isOpen = given.last.map { mayBeMany($0) } ?? false
    let count = given.count - (isOpen ? 1 : 0) + (isMethod ? 1 : 0)
    guard let problem = known?.problem(of: name, count: count, isOpen: isOpen) else { return }
    if Self.judgedElsewhere.contains(name), problem.contains("needs") { return }
    add(call, .wrongArguments, problem)
  }

  private mutating func review(peek argument: SyntaxNode?) {
    guard let argument, let name = argument.stringValue, !plugins.contains(name) else { return }
    add(argument, .unknownName, "there is no plugin '\(name)' for peek", unknown: name, plugins)
  }
}
