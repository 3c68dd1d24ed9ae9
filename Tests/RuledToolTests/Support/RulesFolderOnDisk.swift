import Glibc

/// A rules folder under /tmp that is removed with this value's owner.
final class RulesFolderOnDisk {
  /// The folder's path.
  let path: String

  /// A folder with these files, by path.
  init(_ files: KeyValuePairs<String, String>) {
    var template = Array("/tmp/ruled-rules-XXXXXX".utf8CString)
    path = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? ""
    }
    precondition(!path.isEmpty, "no folder could be made in /tmp")
    for (name, text) in files { write(name, text) }
  }

  deinit { Self.remove(path) }

  private static func remove(_ path: String) {
    if let folder = opendir(path) {
      while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name != ".", name != ".." { remove("\(path)/\(name)") }
      }
      closedir(folder)
    }
    Glibc.remove(path)
  }

  /// Writes a file, and the folders that lead to it.
  func write(_ name: String, _ text: String) {
    var folder = path
    for part in name.split(separator: "/").dropLast() {
      folder += "/\(part)"
      mkdir(folder, 0o755)
    }
    guard let file = fopen("\(path)/\(name)", "we") else { preconditionFailure("cannot write \(name)") }
    fputs(text, file)
    fclose(file)
  }

  /// The files of a plugin called `greeter` that greets once a day.
  static let greeter = """
    plugin { name = "greeter", sinks = { "client", "mail" }, settings = { words = "Good morning" } }
    rule "greet" {
      on = { "app.launched" },
      run = function(event, state)
        if once("greeted:" .. calendar.date(now(), "UTC")) then
          state.greetings = (state.greetings or 0) + 1
          decide("greeting", settings.words)
          timer.set("bye", now() + 3600, "bye", { to = "user:2" })
          emit("mail", "greeted", { n = state.greetings })
        elseif event.data.never then
          decide("never", true)
        end
      end,
    }
    rule "bye" { on = "bye", run = function(event, state) state.bye = now() send(event.data.to, "heard", { at = now() }) end }
    rule "heard" { on = "heard", run = function(event, state) state.heard = event.data.at end }
    query "greetings" (function(state, args) return { count = state and state.greetings or 0, args = args } end)
    sink "mail" (function(effect)
      if effect.data.n > 1 then return nil, "only the first" end
      return { url = "https://mail.example/" .. effect.type, headers = {}, body = json.encode(effect.data) }
    end)
    web "hello.example" (function(request) return { status = 200, headers = {}, body = request.method .. request.path .. (request.query.a or "") } end)

    """
}
