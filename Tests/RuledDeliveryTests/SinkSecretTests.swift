import TestSupport
import Testing

@testable import RuledDelivery

@Suite struct SinkSecretTests {
  private let folder = TemporaryFolder()

  @Test func `a secret that is printed shows nothing`() {
    folder.write("token", "  TopSecret42\n")
    let secret = SinkSecret(path: folder("token"))
    #expect(secret.read() == nil && secret.authorization == "Bearer TopSecret42")
    var dumped = ""
    dump(secret, to: &dumped)
    #expect(!("\(secret)" + String(reflecting: secret) + dumped).contains("TopSecret42"))
  }

  @Test(arguments: ["", " \n", "two words", "line\nbreak", "ünicode"])
  func `text that a header can't contain is no secret`(text: String) {
    folder.write("token", text)
    let secret = SinkSecret(path: folder("token"))
    let problem = secret.read()
    #expect(problem != nil)
    #expect(secret.authorization == nil)
    if text.contains("two") { #expect(problem?.contains("two") == false) }
  }
}
