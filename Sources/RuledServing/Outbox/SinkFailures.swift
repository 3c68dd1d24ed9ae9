import RuledCore
import RuledEngine
import RuledJSON
import RuledStore

/// Since when sinks fail, in the store, so that a restart does not begin to count anew; confined to the outbox's thread.
final class SinkFailures: OutboxPart {
  private static let value = StoredValue(name: "failing_sinks")
  /// The least time between two writes, in milliseconds: a sink may fail and work by turns.
  private static let period: UInt64 = 1_000

  /// The names of the failing sinks that the store has.
  private var stored: Set<String> = []
  /// When they are compared next, in the loop's milliseconds.
  private var nextTime: UInt64 = 0

  private var haveChanged: Bool { sinks.all.contains { $0.figures.isFailing != stored.contains($0.name) } }

  /// When to store the failing sinks, in the loop's milliseconds; nil if the store has them.
  var nextStore: UInt64? { haveChanged ? nextTime : nil }

  /// Continues the failures of the configured sinks that the store has.
  func resume() {
    let text: ByteBuffer?
    do throws(StoreError) { text = try Self.value.read(from: services.context.store) } catch {
      return services.log.warn("since when sinks have failed can't be read: \(error)")
    }
    guard let text else { return }
    let now = EngineClock.wall.microseconds
    for member in (try? JSONValue(parsing: text.bytes))?.objectValue?.members ?? [] {
      guard let sink = sinks[member.name], let since = member.value.intValue, since >= 0, since <= now
      else { continue }
      sink.figures.resumeFailing(for: UInt64(now - since) * 1_000)
      stored.insert(member.name)
    }
  }

  /// Stores which sinks fail and since when, if the stored ones differ.
  func storeFailing(now: UInt64) {
    guard now >= nextTime, haveChanged else { return }
    nextTime = now &+ Self.period
    guard services.status.storeIsWell else { return }
    let (wall, monotonic) = (EngineClock.wall.microseconds, EngineClock.monotonic)
    var failing = JSONObject()
    for sink in sinks.all {
      guard let duration = sink.figures.failingNanoseconds(now: monotonic) else { continue }
      failing[sink.name] = .integer(wall - Int64(duration / 1_000))
    }
    Self.value.write(to: services.context, durable: false) { JSONValue.object(failing).write(to: $0) }
    stored = Set(failing.names)
  }
}
