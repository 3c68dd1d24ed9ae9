import RuledCore

/// A secret that is read from a file and used in a request's header only; printed it shows nothing.
final class SinkSecret: CustomStringConvertible, CustomReflectable {
  let path: String
  private var text: String?

  /// The secret in a file, which is not read yet.
  init(path: String) { self.path = path }

  let description = "(secret)"
  var customMirror: Mirror { Mirror(self, children: [:]) }

  /// The value of the `Authorization` header; nil when the file could not be read.
  var authorization: String? { text.map { "Bearer \($0)" } }

  var count: Int { text?.utf8.count ?? 0 }

  /// The first bytes of a receiver's answer, in which `(secret)` stands for the secret.
  ///
  /// `body` has as many more bytes as the secret, so that one that begins before the end is found.
  func removed(from body: [UInt8]) -> String {
    let secret = Array((text ?? "").utf8)
    var shown: [UInt8] = []
    var index = 0
    while index < min(body.count, Limits.answerBytes) {
      if !secret.isEmpty, body[index...].starts(with: secret) {
        shown += Array("(secret)".utf8)
        index += secret.count
      } else {
        shown.append(body[index])
        index += 1
      }
    }
    return shown.text
  }

  /// Reads the file; returns its problem, or nil.
  ///
  /// When the file can't be read, an older secret is dropped.
  func read() -> String? {
    text = nil
    do throws(RegularFile.Refusal) { text = try SecretFile.secret(path) } catch { return "\(path): \(error)" }
    return nil
  }
}
