internal import RuledReports
internal import RuledStore

/// The pages of `docs/`, which `rulectl help TOPIC` shows: installed beside the program, or those of the source tree that it was built in.
struct HelpPages {
  private static let suffix = ".md"

  let folder: String?

  static func besideProgram() -> HelpPages {
    HelpPages(folder: ProgramFolder.find(installed: "share/doc/ruled/docs", inSources: "docs", with: "rules.md"))
  }

  /// The names of the pages, without `.md`, in order.
  var topics: [String] {
    guard let folder, let names = try? Folder.names(folder) else { return [] }
    return names.filter { $0.hasSuffix(Self.suffix) }.map { String($0.dropLast(Self.suffix.count)) }.sorted()
  }

  /// The page that a topic names, with or without `.md`, with its headings in bold; nil if there is none.
  func text(_ topic: String, _ style: Style) throws(ToolError) -> String? {
    let name = topic.hasSuffix(Self.suffix) ? String(topic.dropLast(Self.suffix.count)) : topic
    guard let folder, topics.contains(name) else { return nil }
    let bytes = try Input(path: "\(folder)/\(name)\(Self.suffix)").readAll()
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    var isCode = false
    return lines.map { line in
      if line.hasPrefix("```") { isCode.toggle() }
      return line.hasPrefix("#") && !isCode ? style.bold(String(line)) : String(line)
    }.joined(separator: "\n")
  }
}
