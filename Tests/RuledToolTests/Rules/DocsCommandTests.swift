import RuledCore
import RuledTool
import TestSupport
import Testing

/// `rulectl docs` and `rulectl rules --events`.
struct DocsCommandTests {
  private static let project = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()

  private static func plugin(_ folder: TemporaryFolder, _ more: String) {
    folder.write(
      "rules/shop/plugin.lua",
      """
      plugin { name = "shop", version = "1.0.0", about = "Sells.", sinks = { "mail" }, settings = { word = "a|b", caps = { daily = 3 } } }
      event("shop.paid", { amount = "integer: in cents", ["buyer?"] = { name = "string" }, ["lines?"] = { { sku = "string", cents = "integer: in cents" } } }, { about = "Money came." })
      rule "paid" { on = { "shop.paid", "shop.due" }, run = function(event, state)
        state.sum = (state.sum or 0) + event.data.amount
        decide("sum", state.sum)
        emit("mail", "receipt", { at = calendar.date(now(), "UTC") })
      end }
      query "sum" { about = "The sum.", args = { unit = "string?" }, run = function(state) return state and { state.sum } end }
      setting "caps.daily" { type = "integer", min = 1, max = 9, about = "Purchases a day." }
      setting "unit" { type = "string?", one_of = { "eur", "usd" } }
      \(more)
      """)
    folder.write(
      "examples/shop.ndjson",
      """
      {"type":"shop.paid","subject":"user:1","time":"2026-01-05T08:00:00Z","data":{"amount":5}}

      {"type":"shop.paid","subject":"user:1","time":"2026-01-06T08:00:00Z","data":{"amount":7}}
      """)
  }

  @Test func `A page shows a plugin's declarations and the outcomes of examples`() throws {
    let folder = TemporaryFolder()
    Self.plugin(folder, "event('shop.html', {}, { about = 'Takes <b>all</b> & more.' })")
    folder.write(
      "rules/closed/plugin.lua",
      "plugin { name = 'closed' } event('closed.came', { n = 'integer' }, { closed = true })")
    let run = Run("docs", folder("rules"), "--examples", folder("examples"))
    #expect(run.exit == .done && run.errors.isEmpty)
    for line in [
      "Sells. Version 1.0.0.", "### `shop.paid`", "Money came. Rules: paid.", "| `amount` | integer | in cents |",
      "| `buyer` | object? |  |", "| `buyer.name` | string |  |", "| `lines` | array of object? |  |",
      "| `lines[].sku` | string |  |", "| `lines[].cents` | integer | in cents |", "Its data is checked.",
      "Its data is checked, and members that nobody declares are refused.",
      "### `shop.due`",
      "Takes &lt;b&gt;all&lt;/b&gt; &amp; more. No rule listens to it.",
      #"Example: subject `user:1`, data `{"amount":5}`; it decides `{"sum":5}`."#, "| `sum` | `5` |",
      #"| `mail` | `receipt` | `{"at":"2026-01-05"}` |"#, "### `shop.sum`", "| `unit` | string? |  |",
      "Example: `[12]`", #"| `word` | string | `"a\|b"` |  |"#,
      "| `caps.daily` | integer | `3` | 1 or more, at most 9: Purchases a day. |",
      #"| `unit` | string? |  | one of "eur", "usd" |"#,
    ] { #expect(run.output.split(separator: "\n").contains { $0 == line }, "there is no line '\(line)'") }
    #expect(Run("docs", folder("rules/shop")).output.contains("Example") == false)
  }

  @Test func `Text that looks like HTML is shown as it is written`() {
    let folder = TemporaryFolder()
    Self.plugin(
      folder,
      """
      event("a`b<i>", { n = "integer: <script>alert(1)</script>" }, { about = "R&D <b>bold</b>" })
      rule "<u>" { on = "a`b<i>", run = function() end }
      """)
    let page = Run("docs", folder("rules")).output
    for line in [
      "### `` a`b<i> ``", "R&amp;D &lt;b&gt;bold&lt;/b&gt; Rules: &lt;u&gt;.",
      "| `n` | integer | &lt;script&gt;alert(1)&lt;/script&gt; |",
    ] { #expect(page.split(separator: "\n").contains { $0 == line }, "\(page)") }
  }

  @Test func `Texts of a plugin that steer a terminal are printed with escapes`() {
    let folder = TemporaryFolder()
    Self.plugin(folder, "event('x', { n = 'integer: in\\27[31m red' })")
    let page = Run("docs", folder("rules"), terminal: true, variables: ["NO_COLOR": "1"]).output
    #expect(page.contains("in\\u{1b}[31m red") && !page.contains("\u{1B}"), "\(page)")
  }

  @Test func `Pages are written to a folder, and a plugin that does not load is told with its place`() throws {
    let folder = TemporaryFolder()
    Self.plugin(folder, "")
    folder.write("pages/shop.md", "old")
    #expect(Run("docs", folder("rules"), "--output", folder("pages")).output.isEmpty)
    #expect(folder.read("pages/shop.md").hasPrefix("# shop\n"))
    #expect(Run("docs", folder("rules"), "--output", folder("none")).errors.contains("cannot write"))
    Self.plugin(folder, "event 'x' { a = 'strng' }")
    let run = Run("docs", folder("rules"))
    #expect(run.exit == .failed && run.errors.contains("shop/plugin.lua:11: event 'x'.a: there is no type 'strng'"))
  }

  @Test(arguments: ["analytics", "attribution", "deeplinks", "gamification", "onboarding"])
  func `The page on a shipped plugin is what the command prints`(plugin: String) throws {
    let run = Run("docs", "\(Self.project)/rules/\(plugin)", "--examples", "\(Self.project)/examples")
    #expect(run.errors.isEmpty)
    let page = TemporaryFolder.read("\(Self.project)/docs/plugins/\(plugin).md")
    #expect(page == run.output, "run: rulectl docs --examples examples --output docs/plugins")
  }

  private static let rules: JSONValue = [
    "revision": "r",
    "plugins": [
      [
        "name": "shop",
        "events": [
          [
            "type": "shop.paid", "about": "Money came.", "checked": true, "closed": false,
            "data": ["amount": "integer"],
          ]
        ],
      ]
    ],
  ]

  @Test func `The daemon's descriptions of events are listed, all or those of one type`() throws {
    let daemon = try FakeDaemon(result: Self.rules)
    defer { daemon.stop() }
    let text = "shop.paid  shop  Money came.\n  amount  integer\n"
    #expect(Run("rules", "--events", on: daemon).output == text)
    #expect(Run("rules", "--events", "shop.paid", on: daemon).output == text)
    let unknown = Run("rules", "--events", "shop.piad", on: daemon)
    #expect(
      unknown.exit == .no && unknown.errors.contains("no plugin describes 'shop.piad'; did you mean 'shop.paid'?"))
  }

  @Test func `A folder of examples that is missing is an error`() {
    let folder = TemporaryFolder()
    Self.plugin(folder, "")
    let run = Run("docs", folder("rules"), "--examples", folder("none"))
    #expect(run.exit != .done && run.output.isEmpty && run.errors.contains("cannot read '\(folder("none"))'"))
  }

  @Test func `A folder in the place of a file is named`() {
    let folder = TemporaryFolder()
    let run = Run("explain", folder.path)
    #expect(run.errors == "rulectl: cannot read '\(folder.path)': Is a directory\n", "\(run.errors)")
  }
}
