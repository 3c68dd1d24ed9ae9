import RuledTool
import TestSupport
import Testing

/// `rulectl help TOPIC` shows the pages of `docs/`.
struct HelpPagesTests {
  private static let project = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()

  @Test(arguments: ["rules.md", "protocol", "operations.md"]) func `A page is shown as it is`(topic: String) {
    let name = topic.hasSuffix(".md") ? topic : "\(topic).md"
    let run = Run("help", topic)
    #expect(run.exit == .done)
    #expect(run.output == TemporaryFolder.read("\(Self.project)/docs/\(name)"))
  }

  @Test func `On a terminal headings are bold, and a name of a command stays the command's help`() {
    #expect(Run("help", "protocol", terminal: true).output.hasPrefix("\u{1B}[1m# The socket\u{1B}"))
    #expect(Run("help", "rules").output == Run("rules", "--help").output)
  }

  @Test(arguments: ["nosuch", "../README", "plugins/attribution", ""])
  func `An unknown topic names the nearest, or where they are listed`(topic: String) {
    let run = Run("help", topic)
    #expect(run.exit == .failed && run.output.isEmpty && run.errors.contains("pages: "))
  }

  @Test func `A misspelled topic names the page that is meant`() {
    #expect(Run("help", "protcol").errors.contains("did you mean 'protocol'?"))
  }
}
