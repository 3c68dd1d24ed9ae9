package import RuledCore
import RuledStore

extension Evaluator {
  /// Applies a message to its subject and takes it from the store in the same commit, so that it is applied exactly once.
  ///
  /// Does nothing when the message is no longer there.
  package func deliver(_ message: CommitUnit.Message) throws(RequestError) {
    let subject = try findSubject(named: message.subject)
    key.removeAll()
    StoreKey.message(message.subject, sequence: message.sequence, into: key)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value) else {
      message.cascade?.ended()
      return
    }
    let document = EventDocument()
    let mark = unit.mark
    unit.writes.delete(key.bytes)
    subject.lastCommit = unit.number
    unit.delivered.append(message)
    guard document.parse(value.bytes) else { return }
    var event = document.event(now: context.clock.now.microseconds)
    event.attributes = 0
    event.hops = Int(document.integer(document.member("hops")))
    try handle(event, cascade: message.cascade, undoing: mark)
  }
}
