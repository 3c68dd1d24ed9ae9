import RuledCore
import RuledEngine
import RuledJSON
import RuledStore

/// The store keeps since when sinks fail, so that a restart does not begin to count anew.
extension OutboxService {
  /// The record of failing sinks that survives restarts.
  struct Failures {
    /// The names of those that the store has.
    var stored: Set<String> = []
    /// When they are compared next, in the loop's milliseconds.
    var nextTime: UInt64 = 0
  }

  private static let value = StoredValue(name: "failing_sinks")
  /// The least time between two writes, in milliseconds: a sink may fail and work by turns.
  private static let period: UInt64 = 1_000

  /// Whether the store has other sinks than those that fail.
  var failuresHaveChanged: Bool {
    sinks.values.contains { $0.figures.isFailing != failures.stored.contains($0.name) }
  }

  /// Continues the failures of the configured sinks that the store has.
  func resumeFailures() {
    let stored = ByteBuffer(capacity: 256)
    do throws(StoreError) {
      guard try Self.value.read(from: services.context.store, into: stored) else { return }
    } catch {
      return services.context.log.write(LogLine(.warn, "since when sinks have failed can't be read: \(error)"))
    }
    let now = EngineClock.wall.microseconds
    for member in (try? JSONValue(parsing: stored.bytes))?.objectValue?.members ?? [] {
      guard let sink = sinks[member.name], let since = member.value.intValue, since >= 0, since <= now
      else { continue }
      sink.figures.resumeFailing(for: UInt64(now - since) * 1_000)
      failures.stored.insert(member.name)
    }
  }

  /// Stores since when the sinks fail, if others do than the store has.
  func storeFailures(now: UInt64) {
    guard now >= failures.nextTime, failuresHaveChanged else { return }
    failures.nextTime = now &+ Self.period
    guard services.status.storeIsWell else { return }
    let (wall, monotonic) = (EngineClock.wall.microseconds, EngineClock.monotonic)
    var failing = JSONObject()
    for sink in sinks.values {
      guard let duration = sink.figures.failingNanoseconds(now: monotonic) else { continue }
      failing[sink.name] = .integer(wall - Int64(duration / 1_000))
    }
    Self.value.write(to: services.context, durable: false) { JSONValue.object(failing).write(to: $0) }
    failures.stored = Set(failing.names)
  }
}
