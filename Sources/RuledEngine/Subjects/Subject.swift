import RuledCore

/// A hot subject: its record as the last evaluated event left it, committed or not.
final class Subject {
  /// The subject's name.
  let name: [UInt8]
  let hash: UInt64
  /// The record's bytes, empty for a subject that nothing was ever committed for.
  let record: ByteBuffer
  /// The number of the last commit that holds something of this subject; what the store holds is older until it is durable.
  var lastCommit: UInt64 = 0
  /// The neighbours in the order of use, most recent first.
  var newer: Subject?
  unowned(unsafe) var older: Subject?
  /// The next subject whose hash falls into the same place.
  var chained: Subject?

  init(name: UnsafeRawBufferPointer, hash: UInt64) {
    self.name = Array(name)
    self.hash = hash
    record = ByteBuffer(capacity: 64)
  }

  /// About how many bytes the subject takes.
  var cost: Int { 160 + name.count + record.capacity }
}
