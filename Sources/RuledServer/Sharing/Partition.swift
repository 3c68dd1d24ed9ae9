import RuledCore

/// One of the 256 parts into which a cluster divides its subjects, by a hash of the name that is the same in every process.
struct Partition: Hashable, Sendable {
  /// How many there are.
  static let count = 256
  private static let seed: UInt64 = 0x72_75_6c_65_64

  /// Its number, below `count`.
  let index: UInt8

  /// The partition with that number.
  init(_ index: UInt8) { self.index = index }

  /// The partition of a subject.
  init(of subject: ByteView) { index = UInt8(truncatingIfNeeded: hash64(subject, seed: Self.seed) >> 56) }

  /// The partition of a subject.
  init(of subject: [UInt8]) { self = subject.withView { Partition(of: $0) } }
}

/// A set of partitions.
struct PartitionSet: Sendable, Equatable {
  /// One bit for each partition, that of partition 0 the lowest of the first word.
  var words: InlineArray<4, UInt64> = [0, 0, 0, 0]

  /// No partitions.
  init() {}

  /// These partitions.
  init(_ partitions: some Sequence<Partition>) { for partition in partitions { insert(partition) } }

  /// Whether a partition is in the set.
  func contains(_ partition: Partition) -> Bool {
    words[Int(partition.index >> 6)] & 1 << UInt64(partition.index & 63) != 0
  }

  /// Adds a partition.
  mutating func insert(_ partition: Partition) { words[Int(partition.index >> 6)] |= 1 << UInt64(partition.index & 63) }

  /// Adds the partitions of another set.
  mutating func formUnion(_ other: PartitionSet) { for index in 0..<4 { words[index] |= other.words[index] } }

  /// Removes the partitions of another set.
  mutating func subtract(_ other: PartitionSet) { for index in 0..<4 { words[index] &= ~other.words[index] } }

  /// Whether it has none.
  var isEmpty: Bool { count == 0 }

  /// How many partitions it has.
  var count: Int { (0..<4).reduce(0) { $0 + words[$1].nonzeroBitCount } }

  /// Its partitions, in the order of their numbers.
  var partitions: [Partition] { (0..<Partition.count).map { Partition(UInt8($0)) }.filter { contains($0) } }

  static func == (left: PartitionSet, right: PartitionSet) -> Bool {
    (0..<4).allSatisfy { left.words[$0] == right.words[$0] }
  }
}
