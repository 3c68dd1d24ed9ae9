internal import Glibc

/// `rulectl new`: begins a plugin that works.
package enum NewCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "new", "Makes a plugin that works, with a test that passes.",
    synopsis: ["PLUGIN [--rules DIR]"], required: ["PLUGIN"],
    options: [
      OptionSpec("rules", short: "r", value: "DIR", "The rules folder; 'rules' by default.", completes: .folders)
    ],
    details: "PLUGIN is a lower-case name of letters, digits and underscores. What exists is never written over.",
    examples: [.init("rulectl new greeter", "writes rules/greeter with a rule, a query and a test")])

  /// Writes the plugin's files.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let name = arguments.operands[0]
    guard isName(name) else {
      throw ToolError(
        "'\(name)' can't name a plugin; use a lower-case letter, then letters, digits and underscores, 64 at most")
    }
    guard name != "lib" else { throw ToolError("'lib' is where plugins share modules; choose another name") }
    let rules = arguments.value("rules") ?? "rules"
    if mkdir(rules, 0o777) != 0, errno != EEXIST { throw failed("make the folder '\(rules)'") }
    let folder = "\(rules)/\(name)"
    guard mkdir(folder, 0o777) == 0 else {
      if errno == EEXIST { throw ToolError("'\(folder)' exists already; nothing was written") }
      throw failed("make the folder '\(folder)'")
    }
    guard mkdir("\(folder)/tests", 0o777) == 0 else { throw failed("make the folder '\(folder)/tests'") }
    try write("\(folder)/plugin.lua", PluginTemplate.entry(name))
    try write("\(folder)/tests/\(name)_test.lua", PluginTemplate.test(name))
    environment.output.write("made \(folder)/plugin.lua and \(folder)/tests/\(name)_test.lua\n")
    environment.output.write("try 'rulectl test \(folder)', then change it\n")
    return .done
  }

  private static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, first >= UInt8(ascii: "a"), first <= UInt8(ascii: "z"), name.utf8.count <= 64
    else {
      return false
    }
    return name.utf8.allSatisfy { byte in
      byte == UInt8(ascii: "_") || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
        || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
  }

  private static func write(_ path: String, _ text: String) throws(ToolError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw failed("write '\(path)'") }
    let output = Output(descriptor: descriptor)
    output.write(text)
    output.flush()
    guard close(descriptor) == 0 else { throw failed("write '\(path)'") }
  }

  private static func failed(_ what: String) -> ToolError {
    ToolError("cannot \(what): \(String(cString: strerror(errno)))")
  }
}
