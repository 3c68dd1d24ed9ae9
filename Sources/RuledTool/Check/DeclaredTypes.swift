internal import RuledCore
internal import RuledLua

/// What a plugin's declarations say of the expressions in one of its files.
struct DeclaredTypes {
  private let data: DescribedData
  private let manifest: PluginManifest?
  private let events: EventFlow

  init(_ data: DescribedData, _ manifest: PluginManifest?, _ events: EventFlow) {
    self.data = data
    self.manifest = manifest
    self.events = events
  }

  /// What a member of an event's data is, or a setting; `any` for other expressions, and where the declarations leave it open.
  func type(of node: SyntaxNode) -> ValueType {
    if let (types, path) = events.data(node) { return data.type(of: types, path) }
    guard let manifest, let (path, value) = manifest.setting(node), !manifest.declares(path) else { return .any }
    return switch value {
    // The configuration may have a number in the place of an empty text, and a list or a table in that of an empty one.
    case .null, .string(""), .array([]): .any
    case .object(let members) where members.isEmpty: .any
    case .bool: .boolean
    case .integer, .number: .number
    case .string: .string
    case .array, .object: .table
    }
  }

  /// Whether it is a text that any client may send.
  func isTextOfClients(_ node: SyntaxNode) -> Bool {
    guard let (types, path) = events.data(node) else { return false }
    return data.type(of: types, path) == .string && data.areOfClients(types)
  }
}
