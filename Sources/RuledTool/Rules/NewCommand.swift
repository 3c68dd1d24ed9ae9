internal import Glibc
internal import RuledCore

/// `rulectl new`: makes a plugin that works.
enum NewCommand: Command {
  static let spec = CommandSpec(
    "new", "Makes a plugin that works, with a test that passes.",
    synopsis: ["PLUGIN [--rules DIR]"], required: ["PLUGIN"],
    options: [
      OptionSpec("rules", short: "r", value: "DIR", "The rules folder; 'rules' by default.", completes: .folders)
    ],
    details:
      "PLUGIN is a lower-case name of letters, digits and underscores. An existing folder is never changed.\n"
      + "It also writes DIR/.luarc.json, unless there is one, and definitions for editors with lua-language-server.",
    examples: [.init("rulectl new greeter", "writes rules/greeter with a rule, a query and a test")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let name = arguments.operands[0]
    guard isName(name) else {
      throw ToolError(
        "'\(name)' can't name a plugin; use a lower-case letter, then letters, digits and underscores, 64 at most")
    }
    guard name != "lib" else {
      throw ToolError("'lib' is the folder of modules that plugins share; choose another name")
    }
    let rules = arguments.value("rules") ?? "rules"
    if mkdir(rules, 0o777) != 0, errno != EEXIST { throw failed("make the folder '\(rules)'") }
    let folder = "\(rules)/\(name)"
    guard mkdir(folder, 0o777) == 0 else {
      if errno == EEXIST { throw ToolError("'\(folder)' exists already; nothing was written") }
      throw failed("make the folder '\(folder)'")
    }
    guard mkdir("\(folder)/tests", 0o777) == 0 else { throw failed("make the folder '\(folder)/tests'") }
    try writeDefinitions(rules)
    try WholeFile.create("\(folder)/plugin.lua", with: Array(PluginTemplate.plugin(name).utf8))
    try WholeFile.create("\(folder)/tests/\(name)_test.lua", with: Array(PluginTemplate.test(name).utf8))
    environment.output.write("made \(folder)/plugin.lua and \(folder)/tests/\(name)_test.lua\n")
    environment.output.write(
      "editors with lua-language-server read \(rules)/.luarc.json and \(rules)/\(Definitions.path)\n")
    environment.output.write("try 'rulectl test \(folder)', then change it\n")
    return .done
  }

  /// Writes what editors read: the definitions anew, their settings unless there are some.
  private static func writeDefinitions(_ rules: String) throws(ToolError) {
    if mkdir("\(rules)/.definitions", 0o777) != 0, errno != EEXIST {
      throw failed("make the folder '\(rules)/.definitions'")
    }
    let path = "\(rules)/\(Definitions.path)"
    unlink(path)
    try WholeFile.create(path, with: Array(Definitions.text.utf8))
    if access("\(rules)/.luarc.json", F_OK) != 0 {
      try WholeFile.create("\(rules)/.luarc.json", with: Array(Definitions.settings.utf8))
    }
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

  private static func failed(_ what: String) -> ToolError {
    ToolError("cannot \(what): \(String(cString: strerror(errno)))")
  }
}

/// The files of a new plugin.
private enum PluginTemplate {
  /// `plugin.lua`.
  static func plugin(_ name: String) -> String {
    """
    -- \(name): greets a user once a day. Replace this with your rules.

    plugin {
      name = "\(name)",
      version = "0.1.0",
      about = "Greets a user once a day.",
      settings = { words = "Good morning" },
    }

    rule "greet" {
      on = "app.launched",
      run = function(_, state)
        if once("greeted:" .. calendar.date(now(), "UTC")) then
          state.greetings = (state.greetings or 0) + 1
          decide("greeting", settings.words)
        end
      end,
    }

    query "greetings" (function(state) return { count = state and state.greetings or 0 } end)

    """
  }

  /// `tests/NAME_test.lua`.
  static func test(_ name: String) -> String {
    """
    -- Run with: rulectl test

    test "\(name) greets once a day" (function(t)
      t:at("2025-11-10T08:00:00Z")
      t:equal(t:event("user:1", "app.launched").decisions.greeting, "Good morning")
      t:equal(t:event("user:1", "app.launched").decisions.greeting, nil)
      t:advance("1d")
      t:equal(t:event("user:1", "app.launched").decisions.greeting, "Good morning")
      t:equal(t:query("user:1", "greetings").count, 2)
      t:equal(t:query("user:2", "greetings").count, 0)
    end)

    test "\(name) says what the settings say" (function(t)
      t:settings { words = "Hello" }
      t:equal(t:event("user:1", "app.launched").decisions.greeting, "Hello")
    end)

    """
  }
}
