internal import RuledCore
internal import RuledLua

/// Reads one file of a plugin as a tree: finds mistakes in it, and notes facts on which files have to agree.
struct SourceReview: FileReview {
  /// The facts that are known before a file is read.
  struct Surroundings {
    /// The members of the host's tables, by the table's name.
    let members: [String: [String]]
    let isGlobal: (String) -> Bool
    /// The plugin's settings; nil where the file belongs to no one plugin.
    let settings: (plugin: String, names: [String])?
    let isTest: Bool
  }

  /// An event type that a call names.
  struct NamedType {
    /// The call's use of the type, as in `which is raised here`.
    let verb: String
    let file: SourceFile
    let node: SyntaxNode

    var type: String { node.text }
    var place: String { "\(file.path):\(node.line)" }
  }

  /// A call whose first argument is a text, and is to be a subject or a topic, with the type after it if that is one, too.
  struct Receiver {
    let function: String
    let what: String
    let first: NamedType
    let type: String?
  }

  static let eventFields = ["id", "source", "type", "subject", "time", "data", "origin", "sender"]

  var findings: [Finding] = []
  /// The types of events that are raised, sent and set timers for.
  private(set) var made: [NamedType] = []
  /// The types of events that tests send.
  private(set) var tested: [NamedType] = []
  private(set) var receivers: [Receiver] = []
  private(set) var decisions: [(key: String, line: Int)] = []
  private(set) var settings: Set<String> = []
  private(set) var readsAnySetting = false
  /// All names and texts that the file mentions.
  private(set) var words: Set<String> = []

  let file: SourceFile
  private let around: Surroundings
  let tree: SyntaxTree
  let variables: FileValues
  /// The parameters of rules that hold the event and the state, and those of tests that hold the driver.
  private var events: Set<Int> = []
  private var states: Set<Int> = []
  private var drivers: Set<Int> = []
  /// The positions of names as tables of members that were judged already.
  private var judged: Set<Int> = []

  /// Reads a file; nil if it is no Lua.
  init?(_ file: SourceFile, _ around: Surroundings) {
    guard let tree = try? SyntaxTree(parsing: file.text) else { return nil }
    self.file = file
    self.around = around
    self.tree = tree
    variables = FileValues(tree)
    visit(tree.root)
  }

  // MARK: Walk

  private mutating func visit(_ node: SyntaxNode) {
    switch node.kind {
    case .index: review(index: node)
    case .name: review(name: node)
    case .string: words.insert(node.text)
    case .call: review(call: node)
    case .methodCall: review(method: node)
    case .assignment: review(assignment: node)
    default: break
    }
    for child in node.children { visit(child) }
  }

  private mutating func review(name node: SyntaxNode) {
    guard let name = node.globalName else { return }
    guard !judged.contains(node.range.lowerBound) else { return }
    if name == "settings" { readsAnySetting = true }
    if name == "require" {
      add(
        node, .unknownName, "what is required here is not checked; call require directly, as in require \"name\"",
        isNote: true)
    }
    guard !around.isGlobal(name) else { return }
    if let advice = HostAdvice.hint(name) {
      return add(node, .unknownGlobal, "there is no global '\(name)': \(advice)")
    }
    let known = Array(SourceInspector.globals)
    add(node, .unknownGlobal, "there is no global '\(name)'", unknown: name, known, at: node.range)
  }

  private mutating func review(index node: SyntaxNode) {
    let object = node.children[0], key = node.children[1]
    guard let member = key.stringValue else { return }
    if let local = object.local, events.contains(local) || tree.locals[local].isParameter && object.text == "event" {
      guard let near = Self.eventFields.first(where: { isOneEdit(member, $0) }) else { return }
      let message = "event has no '\(member)'; did you mean '\(near)'?"
      return add(key, .unknownMember, message, fix: Finding.Fix(range: key.unquotedRange, text: near))
    }
    guard let table = object.globalName, !judged.contains(object.range.lowerBound) else { return }
    if table == "settings" { return review(setting: member, key, of: object) }
    if ["state", "event"].contains(table) {
      return add(object, .unknownGlobal, "there is no \(table) here; give the function the parameter '\(table)'")
    }
    if ["rule", "query"].contains(table) {
      return add(object, .unknownMember, "'\(table)' is a function and has no members")
    }
    let isKnown = around.isGlobal(table)
    guard let members = around.members[table] ?? (isKnown ? nil : []), !members.contains(member) else { return }
    if let advice = HostAdvice.hint("\(table).\(member)") {
      judged.insert(object.range.lowerBound)
      return add(key, isKnown ? .unknownMember : .unknownGlobal, "there is no '\(table).\(member)': \(advice)")
    }
    guard isKnown else { return }
    add(
      key, .unknownMember, "\(table) has no member '\(member)'", unknown: member, members,
      otherwise: "it has \(members.joined(separator: ", "))")
  }

  private mutating func review(setting: String, _ key: SyntaxNode, of object: SyntaxNode) {
    judged.insert(object.range.lowerBound)
    settings.insert(setting)
    guard let known = around.settings, !known.names.contains(setting) else { return }
    add(key, .unknownMember, "plugin '\(known.plugin)' has no setting '\(setting)'", unknown: setting, known.names)
  }

  // MARK: Calls

  private mutating func review(call node: SyntaxNode) {
    let function = node.children[0], arguments = node.arguments
    if let event = MadeEvent(node, variables), let type = namedType(event.type, event.verb) { made.append(type) }
    note(declaration: node)
    if let name = function.globalName {
      switch name {
      case "decide":
        if let key = arguments.first?.stringValue { decisions.append((key, node.line)) }
        let isEmpty = arguments.count == 1 && arguments[0].kind != .call && arguments[0].kind != .vararg
        if isEmpty || arguments.count > 1 && arguments[1].kind == .nil {
          add(node, .emptyDecision, "decide without a value decides null; leave the call out, or decide json.null")
        }
      case "require": if arguments.first?.stringValue != nil { judged.insert(function.range.lowerBound) }
      case "send": note(receiver: "subject", of: name, arguments)
      case "publish": note(receiver: "topic", of: name, arguments)
      case "print" where !around.isGlobal("print"):
        // Of a text it is log.info of it.
        let isText = arguments.count == 1 && (arguments[0].kind == .string || arguments[0].text == "..")
        let fix = isText ? Finding.Fix(range: function.range, text: "log.info") : nil
        return advise(on: function, name, "global 'print'", fix)
      default: break
      }
    }
    if function.kind == .index, let table = function.children[0].globalName {
      let member = function.children[1].stringValue
      if table == "timer", member == "set" { review(timer: arguments) }
      if table == "os", member == "time", arguments.isEmpty {
        advise(on: function, "os.time", "'os.time'", Finding.Fix(range: node.range, text: "now()"))
      }
    }
    if function.kind == .index, let local = function.children[0].local, drivers.contains(local) {
      review(dot: function, method: function.children[1].stringValue ?? "")
    }
  }

  /// Finds a test's method that is called like a function.
  private mutating func review(dot function: SyntaxNode, method: String) {
    guard around.isTest, TestMethods.names.contains(method) else { return }
    let object = function.children[0], dot = object.range.upperBound..<function.children[1].range.lowerBound
    add(
      function, .unknownMember, "a test's methods are called with a colon: \(object.text):\(method)(…)",
      fix: dot.count == 1 ? Finding.Fix(range: dot, text: ":") : nil)
  }

  /// Finds a number of seconds in the place of a time.
  private mutating func review(timer arguments: [SyntaxNode]) {
    guard arguments.count > 1, arguments[1].kind == .number else { return }
    let due = arguments[1], text = text(due)
    guard let seconds = Double(text), seconds < 1e9 else { return }
    add(
      due, .pastTimer, "a timer is due at epoch seconds, and \(text) is in the past; write now() + \(text)",
      fix: Finding.Fix(range: due.range, text: "now() + \(text)"))
  }

  /// Advises on a function that rules don't have.
  private mutating func advise(on function: SyntaxNode, _ name: String, _ what: String, _ fix: Finding.Fix?) {
    judged.insert(function.range.lowerBound)
    add(function, .unknownGlobal, "there is no \(what): \(HostAdvice.hint(name) ?? "")", fix: fix)
  }

  private mutating func note(receiver what: String, of function: String, _ arguments: [SyntaxNode]) {
    guard arguments.count > 1, let first = namedType(arguments[0], "") else { return }
    receivers.append(Receiver(function: function, what: what, first: first, type: arguments[1].stringValue))
  }

  private func namedType(_ argument: SyntaxNode?, _ verb: String) -> NamedType? {
    argument.flatMap { $0.kind == .string ? NamedType(verb: verb, file: file, node: $0) : nil }
  }

  /// Notes which parameters hold the event and the state of a rule, or the driver of a test.
  private mutating func note(declaration node: SyntaxNode) {
    if node.children[0].kind == .call, node.children[0].children[0].globalName == "test",
      let test = node.arguments.first, test.kind == .function, let driver = test.children[0].children.first?.local
    {
      drivers.insert(driver)
    }
    let rule = Declaration.rule(node) ?? [:]
    for function in [rule["run"], rule["when"]] where function?.kind == .function {
      let parameters = function?.children[0].children ?? []
      if let local = parameters.first?.local { events.insert(local) }
      if let local = parameters.dropFirst().first?.local { states.insert(local) }
    }
  }

  private mutating func review(method node: SyntaxNode) {
    guard around.isTest, let local = node.children[0].local, drivers.contains(local) else { return }
    let arguments = node.arguments
    if node.text == "event", let type = namedType(arguments.dropFirst().first, "which is sent here") {
      tested.append(type)
    }
    if node.text == "event" { note(receiver: "subject", of: "t:event", arguments) }
    guard !TestMethods.names.contains(node.text) else { return }
    add(
      node, .unknownMember, "a test's t has no method '\(node.text)'", unknown: node.text, TestMethods.names,
      at: node.mark)
  }

  // MARK: Assignments

  private mutating func review(assignment node: SyntaxNode) {
    for (index, target) in node.children[0].children.enumerated() {
      if let name = target.globalName {
        judged.insert(target.range.lowerBound)
        add(target, .unknownGlobal, "assigns the global '\(name)'; declare it with 'local'")
      }
      guard let local = target.local else { continue }
      let values = node.children[1].children
      let isTable = index < values.count && values[index].kind == .table
      let isNamed = tree.locals[local].isParameter && tree.locals[local].name == "state" && isTable
      guard states.contains(local) || isNamed else { continue }
      add(
        target, .lostAssignment,
        "assigns the parameter '\(target.text)', which changes no state; change the table in place, as in "
          + "\(target.text).name = value, or erase it with forget()")
    }
  }
}

/// Advice on functions of other Lua programs that rules don't have.
enum HostAdvice {
  private static let advice = [
    "print": "log.info(message) writes a line that names plugin, rule and event",
    "os.time": "now() is the time of the event in epoch seconds",
    "os.date": "calendar.date(now(), zone) is a date, calendar.format(now()) a time as text",
    "os.clock": "a rule can't measure time; now() is the time of the event",
    "os.getenv": "settings.name is what the configuration sets",
    "os":
      "now() and calendar tell the time, settings what the configuration sets; a rule has no other access to its host",
    "io": "a rule has no input and output: data(\"file.json\") reads a file of the plugin, emit sends to a sink",
    "load": "require \"name\" loads name.lua beside plugin.lua or in lib",
    "loadstring": "require \"name\" loads name.lua beside plugin.lua or in lib",
    "loadfile": "require \"name\" loads name.lua beside plugin.lua or in lib",
    "dofile": "require \"name\" loads name.lua beside plugin.lua or in lib",
    "package": "require \"name\" finds name.lua beside plugin.lua or in lib",
    "module": "return a table at the end of the file",
    "debug": "rulectl event --dry-run --explain shows what rules read and do",
    "collectgarbage": "the daemon limits and frees the memory of rules",
    "unpack": "table.unpack(list)", "setfenv": "globals can't be replaced", "getfenv": "globals can't be replaced",
    "continue": "goto continue, with ::continue:: before the end of the loop", "null": "nil, or json.null in JSON",
    "_G": "globals can't be reached by a computed name", "math.randomseed": "math.random is seeded by the event",
    "math.pow": "x ^ y", "table.getn": "#list", "table.maxn": "#list", "string.gfind": "string.gmatch",
    "string.dump": "functions can't be stored",
    "coroutine.close": "let the coroutine end",
  ]

  /// Advice on a name such as `print` or `os.time`; nil if there is none.
  static func hint(_ name: String) -> String? { advice[name] }
}
