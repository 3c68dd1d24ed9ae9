import RuledCore
import RuledLua

/// The secret that clients of the loopback listener show.
struct BearerToken: Sendable {
  private static let longestFile = 64 << 10

  private let digest: [UInt8]

  /// The token itself.
  init(_ token: String) { digest = Array(SHA256.hash(token).hex.utf8) }

  /// The first line of a file.
  init(file path: String) throws(StartError) {
    let bytes: [UInt8]
    do throws(RegularFile.Refusal) { bytes = try RegularFile.read(path, limit: Self.longestFile) } catch {
      throw StartError("http.token_file '\(path)' \(error)")
    }
    let text = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    let token = text.filter { !$0.isWhitespace }
    guard !token.isEmpty else { throw StartError("http.token_file '\(path)' holds no token; write one line into it") }
    self.init(token)
  }

  /// Whether the value of an `Authorization` header shows the token.
  ///
  /// Digests are compared, so that the time it takes tells nothing of the token.
  func isIn(_ authorization: String?) -> Bool {
    guard let authorization, authorization.prefix(7).lowercased() == "bearer " else { return false }
    let shown = authorization.dropFirst(7).drop { $0 == " " }
    let other = Array(SHA256.hash(String(shown)).hex.utf8)
    return zip(digest, other).reduce(digest.count == other.count) { $0 && $1.0 == $1.1 }
  }
}
