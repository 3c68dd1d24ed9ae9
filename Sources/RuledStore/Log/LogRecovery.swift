import RuledCore

/// Recovers the commits of an earlier process from the redo log.
///
/// The manifest names the last file, each file's header the one before it. Bytes behind the last whole commit of the last file with commits were never
/// acknowledged or never synced. If a later frame says that the file was synced beyond that commit, they are damage. A file before it must be complete.
/// Nothing is changed in these files: the header of the next one says where the last one ends.
struct LogRecovery {
  struct Result {
    /// The segments that may not be in the database, the earliest first.
    var segments: [Segment] = []
    /// The number of the last file with commits, or of the last that was flushed.
    var last: UInt64
    var end = 0
    /// A note for the operator about bytes dropped at the end of the log.
    var note: String?
  }

  let files: any FileSystem
  let folder: String
  let manifest: LogManifest
  let settings: LogSettings
  let memory: SegmentMemoryPool

  /// Reads the log, and syncs each of its files once, as the bytes read may be in the page cache only.
  ///
  /// While the log has more segments than may be in memory, `flush` brings the earliest into the database.
  func run(flush: (Segment) throws(StoreError) -> Void) throws(StoreError) -> Result {
    var result = Result(last: manifest.contents.flushed)
    let chain = try chain()
    /// The file that has no seal, and where it ends.
    var unsealed: (path: String, end: Int)?
    /// Files without commits before the next one with commits; they stay as long as that one.
    var empty: [Segment] = []
    for (index, link) in chain.enumerated() {
      let next = index + 1 < chain.count ? chain[index + 1].header : nil
      let (segment, isEnded) = try read(link, endingAt: next.map(\.predecessorEnd) ?? 0, &result.note)
      if let unsealed, !segment.isEmpty {
        throw .damagedLog(
          unsealed.path, at: unsealed.end,
          "no whole commit and no seal stands there, and the commits of \(link.path) build on those that are gone")
      }
      if !isEnded, unsealed == nil { unsealed = (link.path, segment.committed) }
      guard !segment.isEmpty else {
        empty.append(segment)
        continue
      }
      result.last = segment.number
      result.end = segment.committed
      result.segments += empty + [segment]
      empty.removeAll()
      while result.segments.count > settings.segmentsAtStart { try flush(result.segments.removeFirst()) }
    }
    return result
  }

  /// A file of the log and its header.
  private struct Link {
    let path: String
    let header: LogFrame.FileHeader
    let file: any StoreFile
  }

  /// The unflushed files of the log, the earliest first.
  private func chain() throws(StoreError) -> [Link] {
    let contents = manifest.contents
    try checkAbove(contents.last)
    var chain: [Link] = []
    var number = contents.last
    while number > contents.flushed {
      let path = RedoLog.path(number, in: folder)
      guard files.exists(path) else {
        let follower = chain.first.map { "\($0.path) follows it" } ?? "\(LogManifest.name) names it as the last"
        throw .damagedLog(path, "the file is gone with all its commits, and \(follower)")
      }
      let file = try files.open(path, .update)
      guard let header = try LogFrame.FileHeader(of: file), header.number == number, header.predecessor < number else {
        throw .damagedLog(path, "its header is not what was written, so none of its commits can be trusted")
      }
      chain.insert(Link(path: path, header: header, file: file), at: 0)
      number = header.predecessor
    }
    return chain
  }

  /// Refuses files with commits that are later than the last one of the manifest, which then belongs to an older log.
  ///
  /// A replacement that has not joined the log is no such file: the manifest knows its number, and the file before it holds all its commits.
  private func checkAbove(_ last: UInt64) throws(StoreError) {
    for number in try RedoLog.numbers(in: folder, files) where number > last {
      let path = RedoLog.path(number, in: folder)
      let file = try files.open(path, .read)
      guard let header = try LogFrame.FileHeader(of: file), header.number == number else { continue }
      if number < manifest.contents.next, header.predecessorEnd > 0 { continue }
      let room = UnsafeMutableRawBufferPointer.allocate(byteCount: min(try file.size(), 1 << 20), alignment: 8)
      defer { room.deallocate() }
      try file.read(into: room, at: 0)
      guard let frame = LogFrame.search(ByteView(room), from: LogFrame.fileHeader, number: number) else {
        continue
      }
      throw .damagedLog(
        path, at: frame.offset,
        "a commit stands there, but \(LogManifest.name) says that file \(last) is the last: it is older than the log")
    }
  }

  /// The segment of a file, which ends at `fixedEnd` unless that is 0; and whether it is known to end there.
  ///
  /// Bytes that are not known to be synced are written again: after a failed sync the kernel may treat pages as clean that are not on the disk.
  private func read(
    _ link: Link, endingAt fixedEnd: Int, _ note: inout String?
  ) throws(StoreError) -> (segment: Segment, isEnded: Bool) {
    let length = try link.file.size()
    guard length >= max(fixedEnd, link.header.length) else {
      throw .damagedLog(
        link.path, at: length, "the file is cut off there; it was given \(link.header.length) bytes when it was made")
    }
    let segment = try Segment(
      link.header, payload: length <= settings.segmentBytes ? 0 : length, settings: settings, pool: memory)
    segment.fileBytes = length
    let room = UnsafeMutableRawBufferPointer(start: segment.base, count: length)
    try link.file.read(into: room, at: 0)
    let bytes = ByteView(room)
    let (isEnded, synced) = try recover(bytes, in: segment, of: link.path, endingAt: fixedEnd)
    if !isEnded, let text = keepTorn(bytes, behind: segment, of: link.path) { note = text }
    let end = segment.committed + (isEnded && fixedEnd == 0 ? LogFrame.header : 0)
    if synced < end { try link.file.write(bytes.extracting(synced..<end), at: synced) }
    try link.file.sync()
    segment.trim()
    return (segment, isEnded)
  }

  /// Recovers the commits of a file.
  ///
  /// Returns whether the file is known to end behind them, and up to which offset it is known to be synced.
  private func recover(
    _ bytes: ByteView, in segment: Segment, of path: String, endingAt fixedEnd: Int
  ) throws(StoreError) -> (isEnded: Bool, synced: Int) {
    var synced = LogFrame.fileHeader
    while fixedEnd == 0 || segment.committed < fixedEnd {
      guard let frame = LogFrame.read(bytes, at: segment.committed, number: segment.number) else { break }
      synced = max(synced, frame.synced)
      if fixedEnd == 0, frame.kind == .seal { return (true, synced) }
      guard frame.kind == .commit else { break }
      segment.recover(payload: frame.payload)
    }
    if fixedEnd > 0 {
      guard segment.committed == fixedEnd else { throw gap(bytes, in: segment, of: path, synced: fixedEnd) }
      return (true, fixedEnd)
    }
    forEachFrame(behind: segment, bytes) { synced = max(synced, $0.synced) }
    guard synced <= segment.committed else { throw gap(bytes, in: segment, of: path, synced: synced) }
    return (false, synced)
  }

  /// The most copies of torn ends that are kept.
  private static let mostCopies = 4

  /// Keeps a copy of torn and unsynced commits behind the log's end; returns a note about them, nil when there are none.
  ///
  /// A start does not fail when the copy can't be made: the file itself stays until it is flushed.
  private func keepTorn(_ bytes: ByteView, behind segment: Segment, of path: String) -> String? {
    var end = segment.committed
    if LogFrame.isBegun(bytes, at: end, number: segment.number) {
      end = min(bytes.count, end + LogFrame.header + LogFrame.payload(at: end, in: segment.base))
    }
    forEachFrame(behind: segment, bytes) { if $0.kind == .commit { end = max(end, $0.end) } }
    let count = end - segment.committed
    guard count > LogFrame.header else { return nil }
    let found =
      "the last \(count) bytes of \(path), from \(segment.committed) on, were not on the disk yet when the daemon ended, so nobody was told that they are; "
      + "they are left out"
    do throws(StoreError) {
      let copies = try files.names(in: folder).filter { $0.hasSuffix(".torn") }.sorted()
      for old in copies.dropLast(Self.mostCopies - 1) { try files.remove("\(folder)/\(old)") }
      let copy = try files.open(path + ".torn", .create)
      try copy.write(bytes.extracting(segment.committed..<end), at: 0)
      return "\(found), and kept in \(copy.path)"
    } catch { return "\(found), and could not be copied: \(error)" }
  }

  private func forEachFrame(behind segment: Segment, _ bytes: ByteView, _ body: (LogFrame.Frame) -> Void) {
    var offset = segment.committed
    while let frame = LogFrame.search(bytes, from: offset, number: segment.number) {
      body(frame)
      offset = frame.end
    }
  }

  private func gap(_ bytes: ByteView, in segment: Segment, of path: String, synced: Int) -> StoreError {
    var commits = 0
    forEachFrame(behind: segment, bytes) { if $0.kind == .commit { commits += 1 } }
    return .damagedLog(
      path, at: segment.committed,
      "no whole commit stands there, but the file was durable up to byte \(synced), and \(commits) whole batches of commits stand "
        + "behind it; to go on would lose what was acknowledged in these \(synced - segment.committed) bytes or more")
  }

  /// Removes the files in the folder that do not belong to the log: flushed ones, and ones that were made and never begun.
  func removeLeftovers(keeping numbers: [UInt64]) {
    let kept = Set(numbers.map { RedoLog.path($0, in: folder) })
    for name in (try? files.names(in: folder)) ?? [] {
      let path = "\(folder)/\(name)"
      if [".log", ".new", ".unused", ".sst"].contains(where: name.hasSuffix), !kept.contains(path) {
        try? files.remove(path)
      }
    }
  }
}
