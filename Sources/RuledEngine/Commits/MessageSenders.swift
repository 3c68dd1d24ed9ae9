import RuledCore
import Synchronization

/// The message counts of all plugins, by the plugin's name.
package final class MessageSenders: Sendable {
  private let known = Mutex<[String: MessageSender]>([:])

  package subscript(name: String) -> MessageSender {
    known.withLock { known in
      if let sender = known[name] { return sender }
      let sender = MessageSender(name: name)
      known[name] = sender
      return sender
    }
  }

  package var summary: (waiting: Int, storming: [String]) {
    let all = known.withLock { Array($0.values) }
    return (all.reduce(0) { $0 + $1.waiting }, all.filter { $0.isStorming && !$0.name.isEmpty }.map(\.name).sorted())
  }
}

/// Counts the messages that one plugin sent; it outlives a reload of the plugin.
package final class MessageSender: Sendable {
  /// The plugin's name; empty for messages that an older version stored without it.
  let name: String
  private let count = Atomic<Int>(0)
  private let stopped = Atomic<UInt64>(0)

  init(name: String) { self.name = name }

  /// How many of its messages are committed and not yet applied.
  package var waiting: Int { max(0, count.load(ordering: .relaxed)) }

  /// Adds to `waiting`.
  package func wait(_ change: Int) { count.wrappingAdd(change, ordering: .relaxed) }

  /// Notes that a limit stopped one of its cascades.
  func noteStop() { stopped.store(EngineClock.monotonic, ordering: .relaxed) }

  /// Whether many of its messages wait, or a limit stopped one of its cascades lately.
  var isStorming: Bool {
    if waiting > Limits.stormingMessages { return true }
    let last = stopped.load(ordering: .relaxed)
    return last != 0 && EngineClock.monotonic - last < UInt64(Limits.stormingTime) * 1000
  }
}
