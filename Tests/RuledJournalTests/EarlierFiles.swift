import RuledCore
import RuledStore

@testable import RuledJournal

/// Files as earlier versions wrote them.
enum EarlierFiles {
  /// Writes entries of clients into a file without index, in blocks of ten.
  static func write(_ entries: [JournalEntry], to path: String) throws {
    let all = ByteBuffer()
    all.append(bigEndian: JournalFile.earlierMagic)
    for start in stride(from: 0, to: entries.count, by: 10) {
      block(entries[start..<min(start + 10, entries.count)], into: all)
    }
    let file = try SystemFiles().open(path, .create)
    try file.write(all.bytes, at: 0)
    withExtendedLifetime(all) {}
  }

  private static func block(_ entries: ArraySlice<JournalEntry>, into all: ByteBuffer) {
    let plain = ByteBuffer()
    var header = BlockHeader(kind: .wholeEntries, first: 0, last: 0, earliest: .max, latest: .min)
    var hashes = DistinctHashes()
    var at: Int64 = 0
    for entry in entries {
      plain.append(0)
      plain.append(varint: entry.sequence - header.last)
      plain.append(signed: entry.at.microseconds - at)
      plain.append(varint: entry.version)
      let digests = ByteBuffer()
      for digest in entry.digests {
        string(Array(digest.plugin.utf8), into: digests)
        digests.append(bigEndian: digest.state)
      }
      for part in [
        entry.event, Array(entry.subject.utf8), [], Array(entry.revision.utf8), entry.decisions, entry.effects,
        entry.failures, Array(digests.bytes),
      ] { string(part, into: plain) }
      hashes.insert(SubjectFilter.hash(of: entry.subject))
      if header.first == 0 { header.first = entry.sequence }
      header.last = entry.sequence
      header.earliest = min(header.earliest, entry.at.microseconds)
      header.latest = max(header.latest, entry.at.microseconds)
      header.entries += 1
      at = entry.at.microseconds
    }
    let compressed = ByteBuffer()
    Compressor(level: 1).compress(plain.bytes, into: compressed)
    header.plainBytes = plain.count
    header.write(filter: SubjectFilter(hashes).bits, contents: compressed.bytes, into: all)
    withExtendedLifetime((plain, compressed)) {}
  }

  private static func string(_ part: [UInt8], into buffer: ByteBuffer) {
    part.withView { EntryHead.write($0, into: buffer) }
  }
}
