import RuledCore

extension MessageInbox {
  /// How it goes about its work.
  struct Settings: Sendable {
    /// How many messages the window has room for, and how many may be applied and not yet settled.
    var room = 4_096
    /// How many messages of a plugin may wait for the next one to go ahead of a backlog.
    var few = 1_000
    /// How many keys of the store are looked at in a turn.
    var page = 2_000
    /// How long messages may take in a turn, in nanoseconds, while clients wait for answers.
    var busyTime: UInt64 = 1_000_000
    /// How long they may take while no client waits.
    var idleTime: UInt64 = 4_000_000
    /// The waits between attempts at what can't be read or committed.
    var backoff = Backoff(first: 200, longest: 60_000)
    /// How many subjects may be held back before the trouble counts as the store's and everything waits.
    var mostHeld = 1_024
    /// How many messages that a client waits for are known as such.
    var mostAwaited = 65_536
    /// How long, when the daemon ends, what clients wait for may go on, in nanoseconds.
    var endTime: UInt64 = 1_000_000_000
  }

  /// Messages in the order in which they are to be applied.
  struct Queue {
    private var entries: [Entry] = []
    private var head = 0

    var count: Int { entries.count - head }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    mutating func popFirst() -> Entry? {
      guard head < entries.count else { return nil }
      let entry = entries[head]
      head += 1
      if head == entries.count || (head > 1024 && head * 2 > entries.count) {
        entries.removeFirst(head)
        head = 0
      }
      return entry
    }

    mutating func removeAll() {
      entries.removeAll()
      head = 0
    }
  }
}
