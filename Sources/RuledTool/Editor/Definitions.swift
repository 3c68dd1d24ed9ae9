internal import RuledCore
internal import RuledLua

/// The files for an editor with lua-language-server: definitions of rules in LuaCATS, and its settings.
enum Definitions {
  /// Where the definitions are, within the rules folder; the daemon ignores names that begin with a dot.
  static let path = ".definitions/ruled.lua"

  /// `.luarc.json`: the version of Lua, the place of the definitions, and the functions of Lua that rules don't have.
  ///
  /// `library` is the folder of the modules that are installed with the program, which `require` finds after those of `lib`.
  static func settings(library: String?) -> String {
    let paths: [JSONValue] = ["?.lua", "lib/?.lua"] + (library.map { [.string("\($0)/?.lua")] } ?? [])
    let folders: [JSONValue] = [".definitions"] + (library.map { [.string($0)] } ?? [])
    return """
      {
        "runtime.version": "Lua 5.4",
        "runtime.builtin": { "io": "disable", "os": "disable", "debug": "disable", "package": "disable" },
        "runtime.path": \(JSONValue.array(paths).text),
        "workspace.library": \(JSONValue.array(folders).text),
        "diagnostics.disable": ["lowercase-global"]
      }

      """
  }

  /// The definitions of the host's functions for rules and tests.
  static var text: String {
    var lines = [
      "---@meta ruled", "",
      "-- What ruled gives to rules, for editors. Made by `rulectl new`; changes are overwritten.", "",
    ]
    lines += classes.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for table in RuleLibrary.tables + ["plugin"] {
      lines += ["---@class ruled.\(table)"]
      for constant in RuleLibrary.constants where constant.name.hasPrefix("\(table).") {
        lines.append("---@field \(constant.name.dropFirst(table.count + 1)) \(constant.type) \(constant.about)")
      }
      if table == "plugin" { lines.append("---@overload fun(declaration: ruled.PluginDeclaration)") }
      lines += ["\(table) = {}", ""]
    }
    for function in TestMethods.all + RuleLibrary.functions { lines += Self.lines(of: function) }
    lines.append(declarations)
    return lines.joined(separator: "\n")
  }

  private static func lines(of function: LibraryFunction) -> [String] {
    var lines = ["---\(function.about)"]
    if !function.example.isEmpty { lines += ["---", "---    \(function.example)"] }
    for parameter in function.parameters {
      let isOptional = parameter.type.hasSuffix("?")
      let type = isOptional ? String(parameter.type.dropLast()) : parameter.type
      lines.append("---@param \(parameter.name)\(isOptional ? "?" : "") \(type)")
    }
    for result in function.results { lines.append("---@return \(result.type)") }
    let names = function.parameters.map(\.name).joined(separator: ", ")
    return lines + ["function \(function.name)(\(names)) end", ""]
  }

  private static let classes = """
    ---@class ruled.Event
    ---@field id string
    ---@field source string
    ---@field type string
    ---@field subject string
    ---@field time number epoch seconds
    ---@field data table empty if the event has no data
    ---@field origin "client"|"message"|"timer"|"raise"|"web" a retry has that of the first time
    ---@field sender? string the subject that sent a message
    ---@field [string] any an extension

    ---@class ruled.PluginDeclaration
    ---@field name string the folder's name
    ---@field version? string
    ---@field about? string
    ---@field settings? table<string, any> defaults; the configuration overrides them key by key at every depth
    ---@field sinks? string[] the only sinks it may emit to
    ---@field sources? string[] only events whose source matches; * is any text
    ---@field budget? { instructions: integer?, memory_mib: integer? }

    ---@class ruled.Setting
    ---@field type string|table a type of an event's data, "zone", "duration", "host", "url" or "plugin"; "?": it may be missing or empty
    ---@field min? number of a number, a duration in seconds, a text's characters, a list's elements
    ---@field max? number
    ---@field one_of? any[]
    ---@field sorted_by? string|string[] the host sorts the list by this member of its elements, or by these in turn; "*" by themselves; "-" before the first: the greatest first
    ---@field names? string[] the keys for which a "*" at the end stands, besides those of the default; without it, any
    ---@field check? fun(value: any, settings: table<string, any>): boolean, string? whether it is right; why not
    ---@field about? string

    ---@class ruled.Rule
    ---@field on string|string[] event types; a prefix ends in .*, "*" is every event
    ---@field priority? integer 0 by default; higher first
    ---@field when? fun(event: ruled.Event, state: table): any
    ---@field run fun(event: ruled.Event, state: table)

    ---@class ruled.Query
    ---@field about? string
    ---@field args? table<string, any> members and their types
    ---@field run fun(state: table?, args: table): any

    ---@class ruled.Sink
    ---@field anonymous? boolean whether effects leave without their subject; the configuration may say otherwise
    ---@field run? fun(effect: ruled.Effect): table?, string?

    ---@class ruled.StateDeclaration
    ---@field version integer of the shape, from 1 on
    ---@field closed? boolean whether members that are not declared are refused
    ---@field [string] any members and their types

    ---@class ruled.Step
    ---@field up fun(old: table): table brings a state from the version before to this one
    ---@field down? fun(new: table): table brings a state back

    ---@class ruled.Request
    ---@field method string
    ---@field host string
    ---@field path string
    ---@field query table<string, string>
    ---@field query_string string
    ---@field headers table<string, string>
    ---@field body string

    ---@class ruled.Effect
    ---@field id string
    ---@field plugin string
    ---@field sink string
    ---@field type string
    ---@field data table
    ---@field subject? string not for the handler of an anonymous sink
    ---@field at string

    ---@class ruled.Outcome
    ---@field subject string
    ---@field version integer
    ---@field decisions table<string, any> this plugin's
    ---@field all table<string, table> those of all plugins
    ---@field effects ruled.Effect[]
    ---@field failures table[]
    ---@field duplicate? boolean
    ---@field differs? boolean whether it has another type or other data than the event that it repeats
    ---@field trace? table[] with the option explain

    ---@class ruled.Test
    local Test = {}

    """

  private static let declarations = """
    ---The plugin's settings, frozen.
    ---@type table<string, any>
    settings = {}

    ---Declares a setting by its path; "*" is each key of a table, or each element of a list.
    ---@param path string
    ---@return fun(setting: ruled.Setting)
    function setting(path) end

    ---Describes the data of an event type, which is then checked; from = "rules" among the members keeps it for rules.
    ---@param type string
    ---@param members? table<string, any>
    ---@param options? { about: string?, closed: boolean?, checked: boolean? }
    ---@return fun(members: table<string, any>)
    function event(type, members, options) end

    ---Declares the shape of the plugin's state, which is checked with each event.
    ---@param shape ruled.StateDeclaration
    function state(shape) end

    ---The steps between versions of the state, by the version that they lead up to.
    ---@param steps table<integer, ruled.Step>
    function migrate(steps) end

    ---@param name string
    ---@return fun(rule: ruled.Rule)
    function rule(name) end

    ---@param name string
    ---@return fun(query: ruled.Query|fun(state: table?, args: table): any)
    function query(name) end

    ---@param host string
    ---@return fun(answer: fun(request: ruled.Request): { status: integer, headers: table?, body: string? })
    function web(host) end

    ---@param name string
    ---@return fun(sink: ruled.Sink|fun(effect: ruled.Effect): table?, string?)
    function sink(name) end

    ---@param name string
    ---@return fun(test: fun(t: ruled.Test))
    function test(name) end

    """
}
