import RuledCore

/// A hot subject: its record as the last evaluated event left it, committed or not.
final class Subject {
  /// The subject's name; valid as long as the subject.
  let name: UnsafeRawBufferPointer
  /// The hash of the name, by which the cache finds it.
  let hash: UInt64
  /// The record's bytes, empty for a subject that nothing was ever committed for.
  let record: ByteBuffer
  /// The number of the last commit that holds something of this subject; what the store holds is older until it is durable.
  var lastCommit: UInt64 = 0
  /// The value of its earlier events, nil before somebody asked for it; it counts as long as the record says.
  var earlier: ByteBuffer?
  /// Whether it was asked for since the cache last looked for something to let go.
  var isUsed = true

  init(name: UnsafeRawBufferPointer, hash: UInt64) {
    let own = UnsafeMutableRawBufferPointer.allocate(byteCount: name.count, alignment: 1)
    own.copyMemory(from: name)
    self.name = UnsafeRawBufferPointer(own)
    self.hash = hash
    record = ByteBuffer(capacity: 64)
  }

  deinit { name.deallocate() }

  /// About how many bytes the subject takes.
  var cost: Int { 192 + name.count + record.capacity + (earlier?.capacity ?? 0) }
}
