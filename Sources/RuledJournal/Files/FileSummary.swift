import RuledStore

/// The facts of a file that need no reading of its blocks; a new file covers nothing yet.
struct FileSummary: Equatable {
  var path: String
  /// The first sequence that it covers.
  var first: UInt64 = 0
  /// The last sequence that it covers.
  var last: UInt64 = 0
  /// The earliest time of an entry, in microseconds.
  var earliest = Int64.max
  /// The latest time of an entry, in microseconds.
  var latest = Int64.min
  var entries = 0
  /// The bytes of its whole blocks and its index.
  var bytes = 0
  /// Whether it is complete and does not grow any more.
  var isComplete = false
}

extension FileSummary {
  init(_ file: JournalFile) {
    self.init(path: file.path)
    for block in file.blocks { add(block.header) }
    bytes = file.bytes
    isComplete = file.isComplete
  }

  /// The file with the blocks that the summary covers.
  func open(_ files: any FileSystem) throws(StoreError) -> JournalFile {
    try JournalFile(path, files, limit: isComplete ? nil : bytes, through: last)
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
