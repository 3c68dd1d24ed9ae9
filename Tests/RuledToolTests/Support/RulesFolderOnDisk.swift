import TestSupport

/// A rules folder in `/tmp`, removed when the test releases it.
struct RulesFolderOnDisk {
  private let folder = TemporaryFolder()

  var path: String { folder.path }

  /// A folder with these files, by path.
  init(_ files: KeyValuePairs<String, String>) {
    for (name, text) in files { write(name, text) }
  }

  /// Writes a file, and the folders that lead to it.
  func write(_ name: String, _ text: String) { folder.replace(name, with: text) }

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
      if effect.type == "misspelt" then return { ulr = "https://mail.example" } end
      return { url = "https://mail.example/" .. effect.type, headers = {}, body = json.encode(effect.data) }
    end)
    web "hello.example" (function(request)
      if request.path == "/misspelt" then return { stauts = 404 } end
      return { status = 200, headers = {}, body = request.method .. request.path .. (request.query.a or "") }
    end)

    """
}
