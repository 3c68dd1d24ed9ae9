import RuledLua
import TestSupport
import Testing

/// Reading a configuration file, whatever its values.
@Suite struct ConfigurationFileTests {
  private let folder = TemporaryFolder()

  /// The errors of a file with that text; none if it is accepted.
  private func errors(_ text: String) -> [LoadError] {
    folder.write("ruled.conf.lua", text)
    return errors(at: folder("ruled.conf.lua"))
  }

  private func errors(at path: String) -> [LoadError] {
    do throws(ConfigurationFileError) {
      _ = try ConfigurationFile.load(path)
      return []
    } catch { return error.errors }
  }

  @Test(arguments: [("return { workers = 2 }", 1), ("\nlocal c = {}\nreturn c", 3), ("do return 1 end", 1)])
  func `a configuration that returns its values is refused, with what to write`(_ text: String, _ line: Int) {
    let found = errors(text)
    #expect(found.count == 1 && found.first?.line == line)
    #expect(found.first?.message.contains("write its values as globals") == true)
  }

  @Test(arguments: [
    ("if true then return end\nworkers = 2", 1), ("\ndo\nreturn\nend\nworkers = 2", 3),
    ("for i = 1, 2 do\nif i == 1 then return end end", 2), ("\ngoto done\nworkers = 2\n::done::", 2),
  ])
  func `a configuration that may end before its last line is refused`(_ text: String, _ line: Int) {
    let found = errors(text)
    #expect(found.count == 1 && found.first?.line == line)
    #expect(found.first?.message.contains("the values after this line would not be read") == true)
  }

  @Test func `functions return values, a loop may go on, and a file may return nothing at its end`() {
    let loop = "for i = 1, 2 do\nif i == 1 then goto next end\nworkers = i\n::next::\nend"
    #expect(errors("local function two() return 2 end\nworkers = two()\n\(loop)\nreturn").isEmpty)
  }

  @Test(arguments: [
    ("local durability = 'interval'", 1, "leave out local"),
    ("\nlocal n, workers = 1, 2", 2, "'workers' holds is not read: leave out local"),
  ])
  func `a local with the name of a key is refused`(_ text: String, _ line: Int, _ message: String) {
    let found = errors(text)
    #expect(found.count == 1 && found.first?.line == line && found.first?.message.hasSuffix(message) == true)
    #expect(errors("local function two() local workers = 2 return workers end\nlocal n = two()\nworkers = n").isEmpty)
  }

  @Test(arguments: [
    "_ENV = {}\nworkers = 2", "local _ENV = {}\nworkers = 2", "rawset(_ENV, 'workers', 2)", "setmetatable(_ENV, nil)",
    "local f = function(_ENV) workers = 2 end f({})", "for _, _ENV in pairs({ {} }) do workers = 2 end",
  ])
  func `a configuration that names the table of its globals is refused`(_ text: String) {
    let found = errors("\n" + text)
    #expect(found.count == 1 && found.first?.line == 2, "\(found)")
    #expect(found.first?.message.contains("'_ENV' is not offered") == true)
  }

  @Test(arguments: [
    ("limits = {\n  in_flight = 1,\n  connections = 0/0,\n}", 3, "limits.connections is not a number (NaN)"),
    ("workers = 2\nworkers = math.huge", 2, "workers is infinite"),
    ("workers = 0/0\nlocal text = [[\nworkers = 1\n]]", 1, "workers is not a number (NaN)"),
    ("\nadmins = { 'root', -1/0 }", 2, "admins[2] is infinite"),
    ("plugins = { p = {\n['a b'] = tostring } }", 1, "plugins.p.a b is a function"),
    ("socket = '\\xff'", 1, "socket is a string that is not UTF-8"),
  ])
  func `a value that nothing can hold is refused with its line`(_ text: String, _ line: Int, _ message: String) {
    let found = errors(text)
    #expect(
      found.count == 1 && found.first?.line == line && found.first?.message.hasPrefix(message) == true, "\(found)")
  }

  @Test func `a byte order mark at the start is skipped`() {
    #expect(errors("\u{FEFF}workers = 2").isEmpty)
    #expect(errors("\u{FEFF}workers = 'x'").first?.line == 1)
  }

  @Test(arguments: ["/tmp", "/dev/null"]) func `a path that is no regular file is not said to be in the way`(
    path: String
  ) {
    let message = errors(at: path).first?.message ?? ""
    #expect(message.contains("only regular files are read") && !message.contains("remove"), "\(message)")
  }
}
