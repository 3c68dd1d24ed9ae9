/// The key of a parked part: the events of one plugin that wait for a retry.
package struct ParkedKey: ItemKey {
  package let subject: [UInt8]
  package let sequence: UInt64

  package init(subject: [UInt8], sequence: UInt64) {
    self.subject = subject
    self.sequence = sequence
  }
}
