internal import RuledCore
internal import RuledLua

/// Compares the members that rules read of events, and give to events, with the plugins' descriptions.
struct DescribedData {
  private let declarations: [String: [EventDeclaration]]

  /// The descriptions of plugins that see the events of all sources, and of the plugin with that name.
  init(_ manifests: [PluginManifest], of plugin: String? = nil) {
    let all = manifests.filter { $0.sources.isEmpty || $0.name == plugin }.flatMap(\.events)
    declarations = Dictionary(grouping: all, by: \.type)
  }

  /// The type of a member of the data of events of these types; `any` unless checked descriptions of all agree.
  func type(of types: [String], _ path: [String]) -> ValueType {
    let found = types.map { type in
      let checked = declarations[type, default: []].filter(\.isChecked)
      let members = checked.compactMap { Self.schema($0.data, at: path.dropLast()) }.flatMap(\.members)
      return members.first { $0.name == path.last }.map { ValueType($0.type) } ?? .any
    }
    return Set(found.map(\.text)).count == 1 ? found[0] : .any
  }

  /// Whether clients may send events of any of these types.
  func areOfClients(_ types: [String]) -> Bool {
    types.contains { !declarations[$0, default: []].contains(where: \.isInternal) }
  }

  /// The mistakes in a file; any member may be read and given where no description is closed, unless it is nearly a described one.
  func findings(_ review: DataReview, _ flow: ValueFlow, file: String) -> [Finding] {
    review.reads.compactMap { finding($0, file: file) } + review.made.compactMap { finding($0, flow, file: file) }
  }

  private func finding(_ read: DataReview.Read, file: String) -> Finding? {
    let described = read.types.compactMap { declarations[$0] }
    let schemas = described.joined().compactMap { Self.schema($0.data, at: read.path.dropLast()) }
    guard described.count == read.types.count, !schemas.isEmpty, let member = read.path.last else { return nil }
    let names = schemas.flatMap(\.names), types = read.types.map { "'\($0)'" }.joined(separator: " and ")
    guard !names.contains(member) else { return nil }
    let near = NearestName.find(member, in: names)
    let isClosed = read.path.count == 1 && described.allSatisfy { $0.contains(where: \.isClosed) }
    guard near != nil || isClosed else { return nil }
    return Finding(
      file: file, line: read.line,
      message: "the data of \(types) has no member '\(member)'\(NearestName.hint(member, in: names))",
      code: .unknownMember,
      fix: Finding.Fix(read.range, from: member, to: near))
  }

  /// The members of the value at a path; nil if it has no declared ones.
  private static func schema(_ schema: DataSchema, at path: ArraySlice<String>) -> DataSchema? {
    guard let name = path.first else { return schema }
    guard case .members(let inner)? = schema.members.first(where: { $0.name == name })?.type else { return nil }
    return self.schema(inner, at: path.dropFirst())
  }

  private func finding(_ made: DataReview.Made, _ flow: ValueFlow, file: String) -> Finding? {
    let described = (declarations[made.type] ?? []).filter(\.isChecked)
    let names = described.flatMap(\.data.names)
    let isClosed = described.contains(where: \.isClosed)
    if let member = made.members.map(\.name).first(where: {
      !names.contains($0) && !described.isEmpty && (isClosed || NearestName.find($0, in: names) != nil)
    }) {
      return Finding(
        file: file, line: made.line,
        message: "the data of '\(made.type)' has no member '\(member)'\(NearestName.hint(member, in: names))",
        code: .unknownMember)
    }
    for member in described.flatMap(\.data.members) {
      guard let value = made.members.first(where: { $0.name == member.name })?.value else { continue }
      let given = flow.type(of: value)
      guard ValueType(member.type).excludes(given) else { continue }
      return Finding(
        file: file, line: value.line,
        message:
          "the data of '\(made.type)' has '\(member.name)' as \(member.type.text), and \(given.text) is given here",
        code: .wrongArguments)
    }
    let needed = described.flatMap(\.data.members).first { member in
      !member.isOptional && !made.members.contains { $0.name == member.name }
    }
    return needed.map {
      Finding(
        file: file, line: made.line, message: "the data of '\(made.type)' needs '\($0.name)', which is not given here",
        code: .unknownMember)
    }
  }
}
