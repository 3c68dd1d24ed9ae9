import Glibc
import RuledCore

/// The secret that clients of the loopback listener show.
struct BearerToken: Sendable {
  private let digest: [UInt8]

  /// The token itself.
  init(_ token: String) { digest = Array(SHA256.hash(token).hex.utf8) }

  /// The first line of a file.
  init(file path: String) throws(StartError) {
    guard let file = fopen(path, "re") else {
      throw StartError("http.token_file '\(path)' can't be read: \(String(cString: strerror(errno)))")
    }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 4096)
    let read = fgets(&line, Int32(line.count), file)
    let text = read == nil ? "" : String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
