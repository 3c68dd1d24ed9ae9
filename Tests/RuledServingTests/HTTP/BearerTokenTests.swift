import RuledCore
import RuledLua
import TestSupport
import Testing

@testable import RuledServing

@Suite struct BearerTokenTests {
  private let folder = TemporaryFolder()
  private let log = RecordingLog()

  @Test func `a token that was replaced is in force from the next reload on`() throws {
    folder.write("token", "first\n")
    let token = try BearerToken(file: folder("token"))
    folder.write("token", "second\n")
    #expect(token.matches(authorization: "Bearer first"))
    token.reread(log)
    #expect(token.matches(authorization: "Bearer second") && !token.matches(authorization: "Bearer first"))
    #expect(log.text.contains("the token in \(folder("token")) was replaced"))
  }

  @Test func `a token that can't be read is told, and the one before stays until the file is mended`() throws {
    folder.write("token", "first\n")
    let token = try BearerToken(file: folder("token"))
    folder.write("token", "\n")
    token.reread(log)
    #expect(token.matches(authorization: "Bearer first"))
    let problem = try #require(token.problem)
    #expect(problem.contains("\(folder("token"))' holds no token"), "\(problem)")
    #expect(log.text.contains("holds no token; write one line into it"))
    for content in ["sec\0nd\n", "\0\0\0", " two words \n", "tab\tbed\n"] {
      folder.write("token", content)
      token.reread(log)
      #expect(token.problem?.contains("\(folder("token"))' holds no usable token, which is printable ASCII") == true)
      #expect(token.matches(authorization: "Bearer first"))
    }
    folder.write("token", "\u{feff} first \r\n")
    token.reread(log)
    #expect(token.problem == nil && token.matches(authorization: "Bearer first"))
  }

  @Test func `a file that is the same is read without a word`() throws {
    folder.write("token", "first\n")
    let token = try BearerToken(file: folder("token"))
    token.reread(log)
    #expect(log.text.isEmpty)
  }
}
