import RuledCore
import RuledStore

/// Collects entries until they are a block.
final class BlockBuilder {
  /// From how many bytes of entries on a block is full: larger ones compress better, smaller ones are found and read faster.
  static let fullBytes = 512 << 10

  private let plain = ByteBuffer(capacity: BlockBuilder.fullBytes + 4096)
  private let compressed = ByteBuffer(capacity: 256 << 10)
  private let compressor: Compressor
  private var codec = EntryCodec()
  private var hashes: [UInt64] = []
  private var header = BlockHeader(.entries, first: 0, last: 0, earliest: .max, latest: .min)

  /// A builder without entries.
  init(level: Int32) { compressor = Compressor(level: level) }

  /// Whether it covers nothing.
  var isEmpty: Bool { header.first == 0 }
  /// Whether it holds as much as a block should.
  var isFull: Bool { plain.count >= Self.fullBytes }

  /// Adds an entry, whose sequence is higher than those before.
  func add(_ view: EntryView) {
    cover(view.sequence)
    codec.write(view, into: plain)
    header.entries += 1
    header.earliest = min(header.earliest, view.at)
    header.latest = max(header.latest, view.at)
    if !view.subject.isEmpty { hashes.append(SubjectFilter.hash(view.subject)) }
  }

  /// Notes that the block covers a sequence whose entry it may not have.
  func cover(_ sequence: UInt64) {
    if isEmpty { header.first = sequence }
    header.last = sequence
  }

  /// Appends the block to `buffer` and begins the next one; gives its header.
  func finish(into buffer: ByteBuffer) -> BlockHeader {
    compressed.removeAll()
    compressor.compress(plain.bytes, into: compressed)
    let filter = SubjectFilter(&hashes)
    var done = header
    done.filterBytes = filter.bits.count
    done.contentBytes = compressed.count
    done.plainBytes = plain.count
    done.write(filter: filter.bits, contents: compressed.bytes, into: buffer)
    removeAll()
    return done
  }

  /// Forgets what it holds.
  func removeAll() {
    plain.removeAll()
    codec = EntryCodec()
    hashes.removeAll(keepingCapacity: true)
    header = BlockHeader(.entries, first: 0, last: 0, earliest: .max, latest: .min)
  }
}
