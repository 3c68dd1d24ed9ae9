import RuledCore

final class BlockBuilder {
  /// The size of a full block's entries in bytes, before anything is left out: larger blocks compress better, smaller ones are read faster.
  static let fullBytes = 512 << 10

  /// The bytes of an entry besides its event and its results, about.
  private static let headBytes = 64

  private let plain = ByteBuffer(capacity: 256 << 10)
  private let compressed = ByteBuffer(capacity: 128 << 10)
  private let compressor: Compressor
  private var codec = EntryCodec()
  private var hashes = DistinctHashes()
  /// The bytes of the entries before anything is left out, about.
  private var entryBytes = 0
  private var header = BlockHeader(kind: .entries, first: 0, last: 0, earliest: .max, latest: .min)

  init(level: Int32) { compressor = Compressor(level: level) }

  var isEmpty: Bool { header.first == 0 }
  var isFull: Bool { entryBytes >= Self.fullBytes }

  /// Adds an entry, whose sequence is higher than all before.
  func add(_ view: EntryView) {
    cover(view.sequence)
    codec.write(view, into: plain)
    entryBytes += Self.headBytes + view.text.count + view.results.count
    header.entries += 1
    header.earliest = min(header.earliest, view.at)
    header.latest = max(header.latest, view.at)
    if !view.subject.isEmpty { hashes.insert(SubjectFilter.hash(view.subject)) }
  }

  /// Notes that the block covers a sequence, whether it has the entry or not.
  func cover(_ sequence: UInt64) {
    if isEmpty { header.first = sequence }
    header.last = sequence
  }

  /// Appends the block to `buffer`, returns its header, and begins the next block.
  func finish(into buffer: ByteBuffer) -> BlockHeader {
    compressed.removeAll()
    compressor.compress(plain.bytes, into: compressed)
    let filter = SubjectFilter(hashes)
    var done = header
    done.filterBytes = filter.bits.count
    done.contentBytes = compressed.count
    done.plainBytes = plain.count
    done.write(filter: filter.bits, contents: compressed.bytes, into: buffer)
    removeAll()
    return done
  }

  /// Begins the next block without writing this one.
  func removeAll() {
    plain.removeAll()
    codec = EntryCodec()
    hashes.removeAll()
    entryBytes = 0
    header = BlockHeader(kind: .entries, first: 0, last: 0, earliest: .max, latest: .min)
  }
}
