import Synchronization

/// What counts the messages of each plugin, by the plugin's name.
package final class MessageSenders: Sendable {
  private let known = Mutex<[String: MessageSender]>([:])

  init() {}

  /// The counts of the plugin of that name.
  package subscript(name: String) -> MessageSender {
    known.withLock { known in
      if let sender = known[name] { return sender }
      let sender = MessageSender(name: name)
      known[name] = sender
      return sender
    }
  }

  /// How many messages wait, and the plugins that storm, by name.
  package var summary: (waiting: Int, storming: [String]) {
    let all = known.withLock { Array($0.values) }
    return (
      all.reduce(0) { $0 + $1.waiting }, all.filter { $0.isStorming && !$0.name.isEmpty }.map(\.name).sorted()
    )
  }
}
