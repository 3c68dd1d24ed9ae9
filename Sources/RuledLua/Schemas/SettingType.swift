import RuledCore

enum SettingType: Sendable {
  /// One of the types of events' data, or a list or a record of them.
  case data(DataType)
  /// A text of that form.
  case text(Form)

  enum Form: String, CaseIterable {
    case zone
    /// Such as `1h30m`.
    case duration
    case host
    /// An http or https URL.
    case url
    /// The name of a plugin; all names are known once all plugins are loaded.
    case plugin
  }

  /// The type that a plugin wrote, without the `?` after a name.
  init(_ written: JSONValue, at path: String) throws(SchemaError) {
    guard let name = written.stringValue else {
      self = .data(try DataType(table: written, at: path))
      return
    }
    if let form = Form(rawValue: name) {
      self = .text(form)
    } else if let type = DataType(named: Substring(name)) {
      self = .data(type)
    } else {
      let names = DataType.names + Form.allCases.map(\.rawValue)
      let hint = NearestName.hint(name, in: names, otherwise: "types are \(names.joined(separator: ", "))")
      throw SchemaError("\(path): there is no type '\(name)'\(hint)")
    }
  }

  /// Whether it has the members of a table.
  var isRecord: Bool {
    if case .data(.members) = self { true } else { false }
  }

  /// The type as pages show it.
  var text: String {
    switch self {
    case .data(let type): type.text
    case .text(let form): form.rawValue
    }
  }

  /// The path where a value differs from the type, and the problem; nil if it does not.
  func mismatch(_ value: JSONValue, at path: SettingPath, zones: ZoneDatabase) -> SettingMismatch? {
    if case .data(let type) = self { return type.mismatch(value, at: path) }
    guard case .text(let form) = self else { return nil }
    let text = value.stringValue
    let isRight =
      switch form {
      // Without the host's files no zone is known; `health` says so.
      case .zone: text.map { (try? zones.knows($0)) ?? true }
      case .duration: text.map { DurationText.parse($0, allowsZero: true) != nil }
      case .host: text.map(Self.isHost)
      case .url: text.map { WebURL($0) != nil }
      case .plugin: text.map { _ in true }
      }
    if isRight == true { return nil }
    let wanted =
      switch form {
      case .zone: "the name of a time zone, such as \"Europe/Berlin\""
      case .duration: "a duration such as \"1h30m\""
      case .host: "the name of a host, such as \"app.example.com\""
      case .url: "an http or https URL"
      case .plugin: "the name of a plugin"
      }
    return SettingMismatch(path, "must be \(wanted), not \(value.shown)")
  }

  private static func isHost(_ text: String) -> Bool {
    let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return text.utf8.count <= 253
      && labels.allSatisfy { label in
        (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
          && label.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "-") }
      }
  }
}

struct SettingPath: Sendable {
  /// The keys down to it; for one in a list, down to the list, which is one value.
  private(set) var keys: [String] = []
  private(set) var isInList = false
  /// The path as messages name it, such as `milestones[2].at`.
  private(set) var text = ""

  func member(_ name: String) -> SettingPath {
    var path = self
    if !isInList { path.keys.append(name) }
    path.text += path.text.isEmpty ? name : ".\(name)"
    return path
  }

  /// An element of the list at this path, counted from 0 on; rules count from 1 on.
  func element(_ index: Int) -> SettingPath {
    var path = self
    path.isInList = true
    path.text += "[\(index + 1)]"
    return path
  }
}

/// The path where a setting is not as declared, with the problem.
struct SettingMismatch: Error {
  let path: SettingPath
  /// The problem, such as `must be at least 1, not 0`.
  let detail: String

  init(_ path: SettingPath, _ detail: String) {
    self.path = path
    self.detail = detail
  }
}

extension DataType {
  /// The path where a setting differs from the type, and the problem; nil if it does not.
  fileprivate func mismatch(_ value: JSONValue, at path: SettingPath) -> SettingMismatch? {
    switch (self, value) {
    case (.any, _), (.string, .string), (.boolean, .bool), (.integer, .integer), (.number, .integer),
      (.number, .number),
      (.object, .object), (.array(nil), .array):
      return nil
    case (.integer, .number(let number)) where Int64(whole: number) != nil: return nil
    case (.array(let element?), .array(let all)):
      return all.indices.lazy.compactMap { element.mismatch(all[$0], at: path.element($0)) }.first
    case (.members(let schema), .object(let object)): return schema.mismatch(object, at: path)
    case (.members(let schema), _) where value.isEmptyTable: return schema.mismatch(JSONObject(), at: path)
    case (.object, _) where value.isEmptyTable, (.array, _) where value.isEmptyTable: return nil
    default: return SettingMismatch(path, "must be \(article) \(text), not \(value.shown)")
    }
  }
}

extension DataSchema {
  fileprivate func mismatch(_ object: JSONObject, at path: SettingPath) -> SettingMismatch? {
    for member in members {
      guard let value = object[member.name] else {
        if member.isOptional { continue }
        return SettingMismatch(path.member(member.name), "is missing")
      }
      if let found = member.type.mismatch(value, at: path.member(member.name)) { return found }
    }
    guard let unknown = object.names.first(where: { !names.contains($0) }) else { return nil }
    return SettingMismatch(path.member(unknown), "is unknown" + NearestName.hint(unknown, in: names))
  }
}

extension JSONValue {
  /// Whether it is Lua's empty table, which is a list as well as a table of named values.
  var isEmptyTable: Bool { arrayValue?.isEmpty == true || objectValue?.isEmpty == true }
}
