package import RuledCore
import RuledEngine
import Synchronization

/// Refusals for want of room: counted for the metrics, told in `health` for a minute, and in the log at most once a minute each.
package final class Refusals: Sendable {
  /// The kind of room that is full.
  enum Reason: String, CaseIterable {
    /// A connection, among `limits.connections`.
    case connections
    /// A connection of a visitor of the plugins' sites.
    case sites
    /// A request, among `limits.in_flight`.
    case inFlight = "in_flight"
    case watches
    /// A request, or a connection, of a client with too many bytes of replies to come.
    case replies
  }

  /// The error for a client beyond the connections that there is room for.
  package static let tooManyConnections = RequestError(
    .overloaded, "more connections than limits.connections allows, or than the process may have open files",
    retryAfter: 1000)

  private struct Entry {
    var count = 0
    var last: UInt64 = 0
    var logged: UInt64 = 0
    var text = ""
  }

  /// How long a refusal is news, in nanoseconds.
  private static let period: UInt64 = 60_000_000_000

  private let entries = Mutex<[Reason: Entry]>([:])
  private let log: any EventLog

  init(log: any EventLog) { self.log = log }

  /// Counts a refusal; `text` says what was refused and why, `now` is in nanoseconds of the monotonic clock.
  func note(_ reason: Reason, now: UInt64 = EngineClock.monotonic, _ text: () -> String) {
    let line = entries.withLock { entries -> String? in
      var entry = entries[reason] ?? Entry()
      defer { entries[reason] = entry }
      let isFirst = entry.count == 0
      entry.count += 1
      entry.last = now
      guard isFirst || now - entry.logged >= Self.period else { return nil }
      entry.logged = now
      entry.text = text()
      return isFirst ? entry.text : "\(entry.text) (\(entry.count) since the start)"
    }
    if let line { log.warn(line) }
  }

  /// Counts a connection that is closed because its client leaves so many bytes of replies unread.
  func noteUnread(_ bytes: Int) {
    note(.replies) {
      "connections are closed whose clients don't read their replies, the last one with \(bytes >> 20) MiB: the unread replies of all connections "
        + "may take \(Limits.unsentBytes >> 20) MiB"
    }
  }

  func count(_ reason: Reason) -> Int { entries.withLock { $0[reason]?.count ?? 0 } }

  /// The refusals of the last minute, a sentence each; `now` is in nanoseconds of the monotonic clock.
  func problems(now: UInt64 = EngineClock.monotonic) -> [String] {
    entries.withLock { entries in
      Reason.allCases.compactMap { reason in entries[reason].flatMap { now < $0.last + Self.period ? $0.text : nil } }
    }
  }
}
