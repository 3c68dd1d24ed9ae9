/// The files that a new plugin begins with.
enum PluginTemplate {
  /// `plugin.lua`.
  static func entry(_ name: String) -> String {
    """
    -- \(name): greets a user once a day. Replace this by what it shall do.

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

  /// The test beside it.
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
    end)

    test "\(name) says what the settings say" (function(t)
      t:settings { words = "Hello" }
      t:equal(t:event("user:1", "app.launched").decisions.greeting, "Hello")
    end)

    """
  }
}
