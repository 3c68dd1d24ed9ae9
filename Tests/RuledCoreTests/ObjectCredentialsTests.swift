import TestSupport
import Testing

@testable import RuledCore

@Suite struct ObjectCredentialsTests {
  private let folder = TemporaryFolder()

  private func read(_ text: String) throws -> ObjectCredentials {
    folder.write("file", text)
    return try ObjectCredentials.read(folder("file"))
  }

  @Test(arguments: [
    "[default]\naws_access_key_id = id\naws_secret_access_key = a/b+c=\naws_session_token=t==\nregion = x\n",
    "# of the bucket\r\nAWS_ACCESS_KEY_ID=id\r\nAWS_SECRET_ACCESS_KEY=\"a/b+c=\"\r\nAWS_SESSION_TOKEN=t==\r\n",
  ])
  func `a file of AWS's tools is read, and a file of environment variables`(text: String) throws {
    let credentials = try read(text)
    #expect(credentials.keyID == "id" && credentials.secret == "a/b+c=" && credentials.sessionToken == "t==")
    #expect("\(credentials)" == "(secret)" && String(reflecting: credentials) == "(secret)")
  }

  @Test(arguments: [
    ("", "has no aws_access_key_id"), ("aws_access_key_id = id", "has no aws_secret_access_key"),
    ("aws_access_key_id = id\naws_secret_access_key =", "has no aws_secret_access_key"),
    ("aws_access_key_id = i d\naws_secret_access_key = x", "printable ASCII"),
    ("[a]\naws_access_key_id = id\n[b]\naws_access_key_id = id", "twice"),
  ])
  func `the members that a file lacks are named, and no secret is shown`(text: String, message: String) throws {
    let error = #expect(throws: RegularFile.Refusal.self) { try read(text) }
    #expect(error?.description.contains(message) == true, "\(String(describing: error))")
  }
}
