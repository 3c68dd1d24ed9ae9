internal import RuledCore
internal import RuledLua

/// Compares what rules read of events, and give to events, with how plugins describe these.
struct DescribedData {
  private let declarations: [String: [EventDeclaration]]

  /// The descriptions of plugins that see the events of all sources.
  init(_ manifests: [PluginManifest]) {
    let all = manifests.filter(\.sources.isEmpty).flatMap(\.events)
    declarations = Dictionary(grouping: all, by: \.type)
  }

  /// What is wrong in a file; any member may be read and given where no description is closed, unless it is nearly a described one.
  func findings(_ review: DataReview, file: String) -> [Finding] {
    review.reads.compactMap { finding($0, file: file) } + review.made.compactMap { finding($0, file: file) }
  }

  private func finding(_ read: DataReview.Read, file: String) -> Finding? {
    let described = read.types.compactMap { declarations[$0] }
    guard described.count == read.types.count else { return nil }
    let names = described.joined().flatMap(\.data.names)
    guard !names.contains(read.member) else { return nil }
    let near = NearestName.find(read.member, in: names)
    let isClosed = described.allSatisfy { $0.contains(where: \.isClosed) }
    guard near != nil || isClosed else { return nil }
    let types = read.types.map { "'\($0)'" }.joined(separator: " and ")
    return Finding(
      file: file, line: read.line,
      message: "the data of \(types) has no member '\(read.member)'\(NearestName.hint(read.member, in: names))",
      code: .unknownMember,
      fix: near.flatMap { isOneEdit(read.member, $0) ? Finding.Fix(range: read.range, text: $0) : nil })
  }

  private func finding(_ made: DataReview.Made, file: String) -> Finding? {
    let described = (declarations[made.type] ?? []).filter(\.isChecked)
    let names = described.flatMap(\.data.names)
    let isClosed = described.contains(where: \.isClosed)
    if let member = made.members.first(where: {
      !names.contains($0) && !described.isEmpty && (isClosed || NearestName.find($0, in: names) != nil)
    }) {
      return Finding(
        file: file, line: made.line,
        message: "the data of '\(made.type)' has no member '\(member)'\(NearestName.hint(member, in: names))",
        code: .unknownMember)
    }
    let needed = described.flatMap(\.data.members).first { !$0.isOptional && !made.members.contains($0.name) }
    return needed.map {
      Finding(
        file: file, line: made.line, message: "the data of '\(made.type)' needs '\($0.name)', which is not given here",
        code: .unknownMember)
    }
  }
}
