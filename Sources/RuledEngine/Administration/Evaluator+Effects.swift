package import RuledCore
import RuledStore

extension Evaluator {
  /// Puts a text in the place of an effect that has not been delivered; false when the effect is gone.
  ///
  /// Going through the subject's own worker, it never brings back what `forget` erased.
  package func replace(_ effect: EffectKey, with text: [UInt8]) throws(RequestError) -> Bool {
    let subject = try findSubject(named: effect.subject)
    key.removeAll()
    effect.write(to: key)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value) else { return false }
    text.withUnsafeBytes { batch.writes.put(key.bytes, $0) }
    subject.lastCommit = batch.number
    return true
  }
}
