package import RuledCore
import RuledIO
import Synchronization

/// The secret that clients of the loopback listener send with each request.
package final class BearerToken: Sendable {
  private let path: String
  /// The digest of the token in force, which itself is not kept, and why the file can't be used as it is now.
  private let values: Mutex<(digest: [UInt8], problem: String?)>

  init(file path: String) throws(StartError) {
    let token: String
    do throws(RegularFile.Refusal) { token = try SecretFile.token(path) } catch {
      throw StartError("http.token_file '\(path)' \(error)", isLasting: true)
    }
    self.path = path
    values = Mutex((Self.digest(of: token), nil))
  }

  /// The digest of the token in force, by which a change of it can be told.
  var digest: [UInt8] { values.withLock { $0.digest } }

  /// Why the file can't be used as it is now, so that the token before is in force; nil if it can.
  package var problem: String? { values.withLock { $0.problem } }

  /// Reads the file again; while it can't be used, the token before stays in force.
  package func reread(_ log: any EventLog) {
    do throws(RegularFile.Refusal) {
      let digest = Self.digest(of: try SecretFile.token(path))
      let isNew = values.withLock { values in
        let isNew = values.digest != digest
        values = (digest, nil)
        return isNew
      }
      guard isNew else { return }
      log.info("the token in \(path) was replaced, the new one is in force")
      warnOfWeaknesses(log)
    } catch {
      let problem = "http.token_file '\(path)' \(error); the token before stays in force"
      values.withLock { $0.problem = problem }
      log.error(problem)
    }
  }

  func warnOfWeaknesses(_ log: any EventLog) {
    for weakness in SecretFile.weaknesses(ofToken: path) {
      log.warn("http.token_file '\(path)' \(weakness)")
    }
  }

  /// Whether the value of an `Authorization` header has the token.
  ///
  /// Digests are compared, so that the time of the comparison shows nothing of the token.
  package func matches(authorization: String?) -> Bool {
    guard let authorization, authorization.prefix(7).lowercased() == "bearer " else { return false }
    let other = Self.digest(of: String(authorization.dropFirst(7).drop { $0 == " " }))
    return zip(digest, other).reduce(digest.count == other.count) { $0 && $1.0 == $1.1 }
  }

  private static func digest(of token: String) -> [UInt8] { Array(SHA256.hash(token).hex.utf8) }
}
