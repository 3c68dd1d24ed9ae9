import RuledCore
import RuledEngine
import RuledStore

extension Services {
  /// Counts the messages that an earlier process left in the store, and has the workers go on with them.
  func takeUpMessages() {
    var counts = Array(repeating: [String: Int](), count: workers.count)
    var last: UInt64 = 0
    do throws(StoreError) {
      try StoreListing.forEachMessage(context) { subject, sequence, plugin in
        counts[owner(of: subject)][plugin, default: 0] += 1
        last = max(last, sequence)
      }
    } catch {
      context.log.write(LogLine(.error, "the messages that wait in the store can't all be counted: \(error)"))
    }
    context.advanceSequence(to: last)
    for (worker, counts) in zip(workers, counts) {
      let found = counts.map { (sender: context.senders[$0.key], count: $0.value) }
      worker.send(.perform { $0.inbox.begin(found) })
    }
  }

  /// How the messages fare.
  var messages: MessageStatus {
    let summary = context.senders.summary
    return MessageStatus(
      waiting: summary.waiting, storming: summary.storming,
      heldSubjects: figures.reduce(0) { $0 + $1.heldSubjects.load(ordering: .relaxed) },
      areReadable: figures.allSatisfy { !$0.failsToRead.load(ordering: .relaxed) },
      damaged: context.damagedMessages.load(ordering: .relaxed))
  }
}

/// What `health` says of messages.
struct MessageStatus {
  /// How many are committed and not applied.
  let waiting: Int
  /// The plugins of which many wait, or whose cascades came to a limit lately.
  let storming: [String]
  /// How many subjects' messages are held back, since one could not be applied.
  let heldSubjects: Int
  /// Whether those that wait in the store can be read.
  let areReadable: Bool
  /// How many were set aside since the start, since they could not be read.
  let damaged: Int

  /// What is wrong, for a person.
  var problems: [String] {
    var found = storming.map { "the plugin \($0) storms: its messages cause ever more, or more than can be applied" }
    if heldSubjects > 0 {
      found.append("messages of \(heldSubjects) subjects can't be applied, as the log says; they are tried again")
    }
    if !areReadable { found.append("messages can't be read from the store, as the log says; that is tried again") }
    if damaged > 0 {
      found.append("\(damaged) messages were damaged and are kept among the parked events, without a plugin")
    }
    return found
  }

  /// The member of `health`.
  var json: JSONValue {
    .object([
      "waiting": .integer(Int64(waiting)), "storming": .array(storming.map { .string($0) }),
      "held_subjects": .integer(Int64(heldSubjects)), "damaged": .integer(Int64(damaged)),
    ])
  }
}
