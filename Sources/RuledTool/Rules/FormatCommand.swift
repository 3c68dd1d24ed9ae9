internal import Glibc
internal import RuledCore
internal import RuledLua
internal import RuledReports
internal import RuledStore

enum FormatCommand: Command {
  static let spec = CommandSpec(
    "fmt", "Lays out Lua files: indentation, spaces and blank lines.",
    synopsis: ["[PATH…] [--check]", "-"], optional: CommandSpec.any, completes: .files,
    options: [
      OptionSpec("check", "Changes nothing; names the files that are laid out otherwise, and exits with 1 for any.")
    ],
    details: """
      PATH is a Lua file or a folder, of which all Lua files are taken but for hidden ones; 'rules' by default. '-' lays
      out standard input to standard output, for editors. Line breaks, words and comments stay as they are: where to break a line
      is the author's choice. A level is two spaces. Two spaces and more stay before '=' and comments and after commas,
      where columns are aligned. A file with a syntax error is left as it is.
      """,
    examples: [
      .init("rulectl fmt", "all files under rules/"), .init("rulectl fmt --check rules/greeter", "for CI"),
      .init("rulectl fmt - < plugin.lua", "a text, for an editor"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let inspector = SourceInspector(worker: LuaWorker())
    let paths = arguments.operands.isEmpty ? ["rules"] : arguments.operands
    if paths == ["-"] {
      let text = try environment.input.readAll()
      let laidOut = try layOut(text, "standard input", inspector)
      if arguments.has("check") { return text == laidOut ? .done : .no }
      environment.output.writeExactly(String(decoding: laidOut, as: UTF8.self))
      return .done
    }
    var files: [String] = []
    for path in paths { try addFiles(at: path, to: &files) }
    var changed = 0
    var failed = 0
    for file in files {
      do throws(ToolError) {
        let text = try Input(path: file).readAll()
        let laidOut = try layOut(text, file, inspector)
        guard laidOut != text else { continue }
        changed += 1
        environment.output.write(file.printable + "\n")
        if !arguments.has("check") { try WholeFile.replace(file, with: laidOut) }
      } catch {
        failed += 1
        environment.report(error)
      }
    }
    let what = arguments.has("check") ? "to be laid out" : "laid out"
    environment.output.write("\(Figures.count(files.count, "file")), \(Figures.count(changed)) \(what)\n")
    if failed > 0 { return .failed }
    return arguments.has("check") && changed > 0 ? .no : .done
  }

  /// The text laid out; an error if it is no Lua, or if words would change, which must not happen.
  private static func layOut(
    _ text: [UInt8], _ file: String, _ inspector: SourceInspector?
  ) throws(ToolError) -> [UInt8] {
    do throws(LoadError) { _ = try inspector?.uses(in: SourceFile(path: file, text: text)) } catch {
      throw ToolError(error.description)
    }
    let laidOut: [UInt8]
    do throws(SyntaxError) { laidOut = try LuaFormatter.format(text) } catch {
      throw ToolError("\(file):\(error.line): \(error.message)")
    }
    guard LuaFormatter.haveSameWords(text, laidOut) else {
      throw ToolError("\(file) would not mean the same any more and is left as it is; please report this as a fault")
    }
    guard laidOut.count <= max(text.count, Limits.sourceFileBytes) else {
      throw ToolError("\(file) would be larger than 256 KiB, the most that loads, and is left as it is")
    }
    return laidOut
  }

  private static func addFiles(at path: String, to files: inout [String]) throws(ToolError) {
    var status = stat()
    guard stat(path, &status) == 0 else { throw ToolError.system("cannot read '\(path)'") }
    guard status.st_mode & S_IFMT == S_IFDIR else { return files.append(path) }
    let names: [String]
    do throws(StoreError) { names = try Folder.names(path) } catch {
      throw ToolError("cannot read '\(path)': \(error.underlying)")
    }
    for name in names.sorted() where !name.hasPrefix(".") {
      let inner = "\(path)/\(name)"
      var status = stat()
      guard lstat(inner, &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        try addFiles(at: inner, to: &files)
      } else if name.hasSuffix(".lua"), status.st_mode & S_IFMT == S_IFREG {
        files.append(inner)
      }
    }
  }
}
