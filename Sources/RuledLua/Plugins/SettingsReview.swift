import RuledCore

/// Compares settings with a plugin's declarations of them.
///
/// In place of a bad configured setting the plugin's own is in force.
struct SettingsReview {
  /// The problems of the configured settings.
  ///
  /// A wrong value may be why a table lacks a name, so such names are told without one.
  var problems: [ConfigurationProblem] { noted.contains(where: \.isBadSetting) ? noted : noted + unlisted }
  private var noted: [ConfigurationProblem] = []
  /// The names in tables that are not declared, and near none that is.
  private var unlisted: [ConfigurationProblem] = []
  /// The problems of the plugin's own settings.
  private(set) var errors: [LoadError] = []
  /// The configuration's settings without the bad ones, and with lists in the order that is declared.
  private(set) var overrides: JSONObject

  private let manifest: PluginManifest
  private let configured: JSONObject
  /// The settings that are compared.
  private var settings: JSONObject

  /// Reviews a plugin's settings and those configured for it; `check` answers why a declaration's own check refuses a value.
  ///
  /// Checks rely on the types declared beside them, and don't run where one is wrong, unless all are wanted.
  init(
    _ manifest: PluginManifest, _ configured: JSONObject, zones: ZoneDatabase, runsAllChecks: Bool,
    check: (Int, JSONValue, JSONObject) -> String?
  ) {
    self.manifest = manifest
    self.configured = configured
    overrides = configured
    settings = manifest.ownSettings.overridden(by: configured)
    reviewKinds(configured, besides: manifest.ownSettings, SettingPath())
    for declaration in manifest.declaredSettings {
      for found in found(of: declaration) {
        switch found {
        case .wrong(let mismatch): note(mismatch, of: declaration)
        case .value(let path, let value):
          if let mismatch = declaration.mismatch(value, at: path, zones: zones) { note(mismatch, of: declaration) }
        }
      }
    }
    guard runsAllChecks || errors.isEmpty && overrides == configured else { return }
    sort()
    for declaration in manifest.declaredSettings {
      guard let index = declaration.check else { continue }
      for case .value(let path, let value) in found(of: declaration) {
        guard let reason = check(index, value, settings) else { continue }
        let isTable = value.arrayValue != nil || value.objectValue != nil
        note(SettingMismatch(path, "\(isTable ? "is wrong" : "can't be \(value.shown)"): \(reason)"), of: declaration)
      }
    }
  }

  /// Notes a problem, and drops the setting from the configured ones.
  private mutating func note(_ found: SettingMismatch, of declaration: SettingDeclaration?) {
    let path = ["plugins", manifest.name] + found.path.keys
    guard !noted.contains(where: { $0.isBadSetting && $0.path == path }) else { return }
    let message = "the setting '\(found.path.text)' of plugin '\(manifest.name)' \(found.detail)"
    if let declaration, configured.isEmpty {
      return errors.append(LoadError(file: declaration.file, line: declaration.line, message))
    }
    noted.append(ConfigurationProblem(path: path, message: message, isBadSetting: true))
    // A value of the plugin's own may be wrong beside others of the configuration: then these go.
    if let bad = configuredKeys(of: found.path.keys) { overrides.put(nil, at: bad) } else { overrides = JSONObject() }
  }

  /// The keys of the value configured at a path, or around it; nil if there is none.
  private func configuredKeys(of keys: [String]) -> [String]? {
    var value = JSONValue.object(configured)
    for (depth, key) in keys.enumerated() {
      guard let members = value.objectValue else { return Array(keys[..<depth]) }
      guard let next = members[key] else { return nil }
      value = next
    }
    return keys
  }

  // MARK: Places

  /// A value that a declaration finds in the settings, or a problem.
  private enum Found {
    case value(SettingPath, JSONValue)
    case wrong(SettingMismatch)
  }

  /// The values that a declaration is about, and where they are missing.
  private func found(of declaration: SettingDeclaration) -> [Found] {
    find(declaration, declaration.keys[...], in: .object(settings), at: SettingPath())
  }

  private func find(
    _ declaration: SettingDeclaration, _ keys: ArraySlice<String>, in value: JSONValue, at path: SettingPath
  ) -> [Found] {
    guard let key = keys.first else { return [.value(path, value)] }
    let rest = keys.dropFirst()
    switch value {
    case .array(let all) where key == "*":
      return all.enumerated().flatMap { find(declaration, rest, in: $0.element, at: path.element($0.offset)) }
    case .object(let members) where key == "*":
      return members.flatMap { find(declaration, rest, in: $0.value, at: path.member($0.name)) }
    case .object, .array([]):
      if let member = value[key] { return find(declaration, rest, in: member, at: path.member(key)) }
      let mayMiss = !rest.isEmpty || declaration.isOptional
      return mayMiss ? [] : [.wrong(SettingMismatch(path.member(key), "is missing"))]
    default: return [.wrong(SettingMismatch(path, "must be a table, not \(value.shown)"))]
    }
  }

  // MARK: Kinds

  /// Compares configured settings with the kinds of the plugin's own, where nothing is declared.
  private mutating func reviewKinds(_ configured: JSONObject, besides own: JSONObject, _ path: SettingPath) {
    for (name, value) in configured {
      let inner = path.member(name)
      guard let known = own[name] else {
        if !manifest.declares(inner.keys) {
          noteUnknown(inner, name, besides: own, path)
        } else if let members = value.objectValue {
          reviewKinds(members, besides: JSONObject(), inner)
        }
        continue
      }
      if let ownMembers = known.objectValue, let members = value.objectValue {
        reviewKinds(members, besides: ownMembers, inner)
      } else if !manifest.declaredSettings.contains(where: { $0.declares(inner.keys) }), !value.isOfKind(known) {
        note(SettingMismatch(inner, "must be \(known.settingKind), as it is by default"), of: nil)
      }
    }
  }

  /// Notes a setting that the plugin does not have, unless the table around it may have any.
  private mutating func noteUnknown(
    _ inner: SettingPath, _ name: String, besides own: JSONObject, _ path: SettingPath
  ) {
    let depth = path.keys.count
    let around = manifest.declaredSettings.filter { $0.covers(path.keys) }
    // A record's type says its members.
    guard !around.contains(where: { $0.keys.count == depth && $0.type.isRecord }) else { return }
    let declared = around.filter { $0.keys.count > depth }
    let hint = NearestName.hint(name, in: own.names + declared.flatMap { $0.names(at: depth) })
    // A table about which nothing is declared may have any keys; only slips are told.
    if declared.isEmpty, depth > 0, !around.isEmpty || hint.isEmpty || isUsual(name, besides: own) { return }
    let problem = ConfigurationProblem(
      path: ["plugins", manifest.name] + inner.keys,
      message: "plugin '\(manifest.name)' has no setting '\(inner.text)'\(hint)")
    if depth > 0, hint.isEmpty { unlisted.append(problem) } else { noted.append(problem) }
  }

  /// Whether a key is no slip although others are near: codes such as `de` are, and so are those that differ in a digit.
  private func isUsual(_ name: String, besides own: JSONObject) -> Bool {
    name.count <= 3 || own.names.contains { $0.filter { !$0.isNumber } == name.filter { !$0.isNumber } }
  }

  // MARK: Order

  /// Sorts the lists whose order is declared.
  private mutating func sort() {
    var sorted: [(SettingPath, JSONValue, SettingDeclaration)] = []
    for declaration in manifest.declaredSettings {
      guard let order = declaration.order else { continue }
      for case .value(let path, let value) in found(of: declaration) {
        let list = JSONValue.array(order.sorted(value.arrayValue ?? []))
        if value.arrayValue != nil, list != value { sorted.append((path, list, declaration)) }
      }
    }
    for (path, list, declaration) in sorted {
      if !path.isInList, configuredKeys(of: path.keys) == path.keys {
        overrides.put(list, at: path.keys)
        settings.put(list, at: path.keys)
      } else {
        note(SettingMismatch(path, "must be in the order that its declaration says"), of: declaration)
      }
    }
  }
}

extension JSONValue {
  /// The kind of a setting, with its article; whole and other numbers are of one kind.
  fileprivate var settingKind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "a table of named values"
    }
  }

  /// Whether it may stand for a plugin's own value: an empty table is of two kinds, and an empty text may be replaced by an id that is
  /// written as a number.
  fileprivate func isOfKind(_ own: JSONValue) -> Bool {
    settingKind == own.settingKind || isEmptyTable || own.isEmptyTable || own.stringValue == "" && doubleValue != nil
  }
}
