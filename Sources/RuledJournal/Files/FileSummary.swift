/// What is known of a file without reading its blocks.
struct FileSummary: Equatable {
  let path: String
  /// The first sequence that it covers.
  var first: UInt64
  /// The last sequence that it covers.
  var last: UInt64
  /// The earliest time of an entry, in microseconds.
  var earliest: Int64
  /// The latest time of an entry, in microseconds.
  var latest: Int64
  /// How many entries it has.
  var entries: Int
  /// How many bytes its whole blocks and its index have.
  var bytes: Int
  /// Whether nothing is added to it any more.
  var isComplete: Bool

  /// A file that covers nothing yet.
  init(path: String) {
    self.path = path
    (first, last, earliest, latest, entries, bytes) = (0, 0, .max, .min, 0, 0)
    isComplete = false
  }

  /// A file that was opened.
  init(_ file: JournalFile) {
    self.init(path: file.path)
    for block in file.blocks { add(block.header) }
    bytes = file.bytes
    isComplete = file.isComplete
  }

  mutating func add(_ header: BlockHeader) {
    if first == 0 { first = header.first }
    last = header.last
    earliest = min(earliest, header.earliest)
    latest = max(latest, header.latest)
    entries += header.entries
    bytes += header.total
  }
}
