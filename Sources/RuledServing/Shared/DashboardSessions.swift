import RuledCore
import Synchronization

/// The browsers that may show the dashboard, as they can't send a bearer token: tokens that work once, and the sessions that they became.
///
/// Only digests of the secrets are kept, in memory: a restart ends every session.
final class DashboardSessions: Sendable {
  static let tokenSeconds = 120
  static let sessionSeconds = 12 * 3600
  /// The most unused tokens; a further one replaces the oldest.
  static let tokenLimit = 16
  /// The most sessions; a further one ends the oldest.
  static let sessionLimit = 32

  /// The role of a secret's holder, and until when.
  private struct Grant {
    let digest: SHA256.Digest
    let role: Role
    /// In nanoseconds of the monotonic clock.
    let end: UInt64
  }

  private let grants = Mutex<(tokens: [Grant], sessions: [Grant])>(([], []))

  /// A token that can be redeemed once for a session with that role; `now` is in nanoseconds of the monotonic clock.
  func issue(_ role: Role, now: UInt64) -> String {
    grants.withLock { Self.grant(role, Self.tokenSeconds, in: &$0.tokens, limit: Self.tokenLimit, now) }
  }

  /// Turns a token into a session and returns its secret; nil for an unknown, used or old token.
  func redeem(_ token: String, now: UInt64) -> String? {
    let digest = SHA256.hash(token)
    return grants.withLock { grants in
      guard let index = grants.tokens.firstIndex(where: { $0.digest == digest }) else { return nil }
      let found = grants.tokens.remove(at: index)
      guard found.end > now else { return nil }
      return Self.grant(found.role, Self.sessionSeconds, in: &grants.sessions, limit: Self.sessionLimit, now)
    }
  }

  /// The role of a session; nil for an unknown or ended one.
  func role(of session: String, now: UInt64) -> Role? {
    let digest = SHA256.hash(session)
    return grants.withLock { grants in grants.sessions.first { $0.digest == digest && $0.end > now }?.role }
  }

  /// Ends a session; false for an unknown one.
  func end(_ session: String) -> Bool {
    let digest = SHA256.hash(session)
    return grants.withLock { grants in
      let before = grants.sessions.count
      grants.sessions.removeAll { $0.digest == digest }
      return grants.sessions.count < before
    }
  }

  /// Adds a grant to a list; returns its secret, 256 bits from the kernel in hexadecimal digits.
  private static func grant(_ role: Role, _ seconds: Int, in list: inout [Grant], limit: Int, _ now: UInt64) -> String {
    let secret = (0..<4).map { _ in UInt64.random(in: 0 ... .max).digits(16, radix: 16) }.joined()
    list.removeAll { $0.end <= now }
    if list.count >= limit { list.removeFirst(list.count - limit + 1) }
    list.append(Grant(digest: SHA256.hash(secret), role: role, end: now + UInt64(seconds) * 1_000_000_000))
    return secret
  }
}
