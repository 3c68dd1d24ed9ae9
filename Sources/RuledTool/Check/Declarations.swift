internal import RuledCore
internal import RuledLua

/// The declarations of plugins on the data of events, of their states, and of the settings of one of them.
struct Declarations {
  /// A value that is declared, or a value within one.
  struct Part: Equatable {
    enum Root: Equatable {
      /// The data of an event of one of these types.
      case data(Set<String>)
      /// The state of the plugin of that name.
      case state(String)
      case settings
    }

    var root: Root
    /// The names that lead to it; nil stands for an element of a list.
    var path: [String?] = []

    /// The path as messages have it, such as `items[].price`.
    var text: String {
      path.reduce("") { text, name in name.map { text.isEmpty ? $0 : "\(text).\($0)" } ?? "\(text)[]" }
    }

    func member(_ name: String?) -> Part { Part(root: root, path: path + [name]) }
  }

  typealias MemberProblem = (message: String, known: [String], advice: String?)

  /// The plugin whose files are read; nil if they are of no one plugin, or it has no manifest.
  var plugin: PluginManifest?
  private let events: [String: [EventDeclaration]]
  private let states: [String: DataType]

  /// The descriptions of plugins that see the events of all sources, and of the plugin with that name.
  init(_ manifests: [PluginManifest], of plugin: String? = nil) {
    let all = manifests.filter { $0.sources.isEmpty || $0.name == plugin }.flatMap(\.events)
    events = Dictionary(grouping: all, by: \.type)
    states = manifests.reduce(into: [:]) { states, manifest in
      if let shape = manifest.state { states[manifest.name] = .members(shape.members) }
    }
  }

  /// The declared type of a value; nil where the declarations leave it open, or those of several events do not agree.
  func dataType(of part: Part) -> DataType? {
    switch part.root {
    case .state(let name): return states[name]?.part(at: part.path[...])
    case .data(let types):
      let found = types.map { type in
        checked(type).lazy.compactMap { DataType.members($0.data).part(at: part.path[...]) }.first
      }
      return Set(found.map { $0.map { ValueType($0).text } }).count == 1 ? found[0] : nil
    case .settings:
      let keys = part.path.prefix { $0 != nil }.compactMap(\.self)
      for depth in keys.indices.reversed() {
        guard let declared = plugin?.declaredType(ofSetting: Array(keys[...depth])) else { continue }
        return declared.part(at: part.path[(depth + 1)...])
      }
      return nil
    }
  }

  func type(of part: Part) -> ValueType {
    if part.path.isEmpty { return .table }
    if let type = dataType(of: part) { return ValueType(type) }
    guard let keys = keys(of: part), plugin?.declares(setting: keys) == false else { return .any }
    switch setting(keys) {
    // The configuration may have a number in the place of an empty text, and a list or a table in that of an empty one.
    case .string(""), .null, nil: return .any
    case .bool: return .boolean
    case .integer, .number: return .number
    case .string: return .string
    case .array(let elements): return elements.isEmpty ? .any : .table
    case .object(let members): return members.isEmpty ? .any : .table
    }
  }

  /// The keys of a setting; nil for other values, and for elements of lists.
  private func keys(of part: Part) -> [String]? {
    part.root == .settings && !part.path.contains(nil) ? part.path.compactMap(\.self) : nil
  }

  private func setting(_ keys: [String]) -> JSONValue? {
    plugin.flatMap { keys.reduce(.object($0.settings)) { $0?[$1] } }
  }

  /// The descriptions of events of a type to which they are held.
  func checked(_ type: String) -> [EventDeclaration] { events[type, default: []].filter(\.isChecked) }

  /// Whether clients may send events of any of these types.
  func areOfClients(_ types: Set<String>) -> Bool {
    types.contains { !events[$0, default: []].contains(where: \.isInternal) }
  }

  /// Types of events in a message.
  static func names(of types: Set<String>) -> String { types.sorted().map { "'\($0)'" }.joined(separator: " and ") }

  /// The problem with the name of a member that a value does not have, the names that it has, and advice; nil if it may have it.
  func problem(ofMember name: String, in part: Part) -> MemberProblem? {
    let path = part.path[...], names: [String]
    switch part.root {
    case .state:
      guard case .members(let schema)? = dataType(of: part), !schema.names.contains(name) else { return nil }
      return ("the plugin's state declares no member '\(name)'", schema.names, "add it to state { … }")
    case .data(let types):
      let described = types.compactMap { events[$0] }
      let schemas = described.joined().compactMap { DataType.members($0.data).part(at: path)?.schema }
      guard described.count == types.count, !schemas.isEmpty else { return nil }
      names = schemas.flatMap(\.names)
      let isClosed = path.isEmpty && described.allSatisfy { $0.contains(where: \.isClosed) }
      // Any member may be read where no description is closed, unless it is nearly a described one.
      guard !names.contains(name), isClosed || NearestName.find(name, in: names) != nil else { return nil }
      return ("the data of \(Self.names(of: types)) has no member '\(name)'", names, nil)
    case .settings:
      let schema = dataType(of: part)?.schema, keys = keys(of: part)
      // A table that is empty by default may get any members.
      names = schema?.names ?? keys.flatMap(setting)?.objectValue.map { Array($0.names) } ?? []
      let isDeclared = schema == nil && keys.map { plugin?.declares($0 + [name]) == true } ?? false
      guard !path.isEmpty, !names.isEmpty, !names.contains(name), !isDeclared else { return nil }
      return ("settings.\(part.text) has no member '\(name)'", names, nil)
    }
  }
}

extension DataType {
  var schema: DataSchema? {
    if case .members(let schema) = self { schema } else { nil }
  }

  /// The type of a value within one of this type; nil if it is not declared.
  fileprivate func part(at path: ArraySlice<String?>) -> DataType? {
    guard let step = path.first else { return self }
    let inner: DataType?
    switch (self, step) {
    case (.members(let schema), let name?): inner = schema.members.first { $0.name == name }?.type
    case (.array(let element), nil): inner = element
    default: inner = nil
    }
    return inner?.part(at: path.dropFirst())
  }
}
