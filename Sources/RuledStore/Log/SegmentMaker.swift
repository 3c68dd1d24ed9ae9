import RuledCore
import RuledThreads

/// Makes the log's segments and their files: ahead of time where it can, and of unused files and memory where there are any.
///
/// A file joins the log when the manifest names it as the last; until then nothing in it is committed.
final class SegmentMaker: @unchecked Sendable {  // `lock` guards what changes
  typealias Made = (segment: Segment, file: SegmentFile)

  private let files: any FileSystem
  private let folder: String
  private let settings: LogSettings
  private let manifest: LogManifest
  private let memory: SegmentMemoryPool
  /// Held while a segment is made.
  private let lock = Condition()
  /// The segment before the next one: the last that was handed out or recovered, and where it ends if it has no seal.
  private var current: (number: UInt64, end: Int)
  /// The number of the next file; each is used once.
  private var nextNumber: UInt64
  /// Files of flushed segments, and whether each was written to its end.
  private var unused: [(path: String, hasZeros: Bool)] = []
  private var recycles = true
  /// A segment made ahead of time.
  private var spare: Made?
  /// Abandoned files; they are removed once the manifest names a later one.
  private var abandoned: [String] = []

  private static let mostUnused = 2

  /// A maker of the segments in `folder` after the one of that number, which ends there if it has no seal.
  init(
    _ files: any FileSystem, folder: String, settings: LogSettings, manifest: LogManifest, memory: SegmentMemoryPool,
    after current: (number: UInt64, end: Int)
  ) {
    self.files = files
    self.folder = folder
    self.settings = settings
    self.manifest = manifest
    self.memory = memory
    self.current = current
    nextNumber = manifest.contents.next
  }

  // MARK: Making

  /// The segment after the active one, with room for a commit of `payload` bytes.
  func successor(for payload: Int) throws(StoreError) -> Made {
    try lock.locked { () throws(StoreError) in
      var next = spare
      if let ready = spare, !ready.segment.hasRoom(for: payload) { next = nil }
      let made = if let next { next } else { try make(payload) }
      if let ready = spare, ready.segment !== made.segment { try? files.remove(ready.file.path) }
      spare = nil
      current = (made.segment.number, 0)
      return made
    }
  }

  /// The segment that takes the place of segment `number`, whose file failed and which ends at `end`, with room for commits of `payload` bytes.
  ///
  /// The manifest does not name its file until `join`. Until then the failed segment ends where its own commits end. So each commit beyond `end` is in
  /// at least one of the two files, and nothing depends on a header that may be torn.
  func replacement(after number: UInt64, endingAt end: Int, for payload: Int) throws(StoreError) -> Made {
    try lock.locked { () throws(StoreError) in
      current = (number, end)
      let ready = spare
      spare = nil
      let made: Made
      if let ready, abandoned.isEmpty, ready.segment.hasRoom(for: payload) {
        made = ready
        do throws(StoreError) { try change(ready, toFollow: number, endingAt: end) } catch {
          abandoned.append(ready.file.path)
          throw error
        }
      } else {
        if let ready { abandoned.append(ready.file.path) }
        made = try make(payload, joinsBehind: number)
      }
      current = (made.segment.number, 0)
      return made
    }
  }

  /// Makes a replacement part of the log; its commits must be durable.
  func join(_ made: Made) throws(StoreError) {
    try lock.locked { () throws(StoreError) in try manifest.change { $0.last = made.segment.number } }
  }

  private func change(_ made: Made, toFollow number: UInt64, endingAt end: Int) throws(StoreError) {
    try manifest.change { $0.last = number }
    made.segment.follow(number, endingAt: end)
    try made.file.write(ByteView(start: made.segment.base, count: LogFrame.fileHeader), at: 0)
    try made.file.sync()
  }

  /// Takes back an unused segment; segment `number` before it is used further or gets a replacement.
  func takeBack(_ made: Made, after number: UInt64) {
    lock.locked {
      if let later = spare { abandoned.append(later.file.path) }
      spare = made
      current = (number, 0)
    }
  }

  /// Gives up a replacement whose file could not be written; segment `number` before it, which ends at `end`, gets another one.
  func giveUp(_ made: Made, after number: UInt64, endingAt end: Int) {
    lock.locked {
      current = (number, end)
      abandoned.append(made.file.path)
    }
  }

  /// Makes a segment and its file: the last one of the log, or with `last` one that joins the log later; until then `last` is the last.
  private func make(_ payload: Int, joinsBehind last: UInt64? = nil) throws(StoreError) -> Made {
    let number = nextNumber
    nextNumber += 1
    let header = LogFrame.FileHeader(
      number: number, predecessor: current.number, predecessorEnd: current.end, length: 0)
    let segment = try Segment(header, payload: payload, settings: settings, pool: memory)
    let path = RedoLog.path(number, in: folder)
    let recycled = segment.capacity == settings.segmentBytes ? unused.popLast() : nil
    var mayBeNamed = false
    do throws(StoreError) {
      let file = try SegmentFile(creating: path, length: segment.capacity, recycled: recycled?.path, files)
      try file.write(ByteView(start: segment.base, count: LogFrame.fileHeader), at: 0)
      try file.sync()
      mayBeNamed = true
      try manifest.change {
        $0.last = last ?? number
        $0.next = number + 1
      }
      for path in abandoned { try? files.remove(path) }
      abandoned.removeAll()
      segment.hasZeros = recycled?.hasZeros ?? false
      return (segment, file)
    } catch {
      if mayBeNamed || (try? files.remove(path)) == nil { abandoned.append(path) }
      throw error
    }
  }

  // MARK: Ahead of time

  /// Makes the next segment if there is none, so that no commit has to wait for it.
  func prepare() throws(StoreError) {
    try lock.locked { () throws(StoreError) in
      if spare == nil { spare = try make(0) }
    }
  }

  /// Writes zeros to all of the next segment's file; false when that could not be done.
  ///
  /// It writes parts of 1 MiB, so that a commit which needs the segment meanwhile waits for one part at most.
  func writeZeros() -> Bool {
    while lock.locked({ writePart() }) {}
    return lock.locked { spare?.segment.hasZeros ?? false }
  }

  /// Writes one part; true when there are more.
  private func writePart() -> Bool {
    guard let spare, !spare.segment.hasZeros else { return false }
    do throws(StoreError) {
      spare.segment.hasZeros = try spare.file.writeZeros(to: spare.segment.capacity)
    } catch {
      return false
    }
    return !spare.segment.hasZeros
  }

  // MARK: Unused files and memory

  /// Releases memory that is kept for later segments.
  func trim() {
    memory.removeAll()
    lock.locked { spare?.segment.trim() }
  }

  /// Keeps a segment's file to be written over, if it is one of the usual size, and otherwise removes it.
  func recycle(_ segment: Segment) {
    let path = RedoLog.path(segment.number, in: folder)
    lock.locked {
      let kept = path + ".unused"
      if recycles, segment.fileBytes == settings.segmentBytes, unused.count < Self.mostUnused,
        (try? files.rename(path, to: kept)) != nil
      {
        unused.append((kept, segment.hasZeros))
      } else {
        try? files.remove(path)
      }
    }
  }

  /// Removes the kept files and the torn ends of logs, and keeps no others until `resumeRecycling`; returns the number of the last file made.
  func stopRecycling() throws(StoreError) -> UInt64 {
    try lock.locked { () throws(StoreError) in
      recycles = false
      let torn = try files.names(in: folder).filter { $0.hasSuffix(".torn") }.map { "\(folder)/\($0)" }
      for path in torn + unused.map(\.path) { try files.remove(path) }
      unused.removeAll()
      return nextNumber - 1
    }
  }

  /// Keeps files of segments flushed from now on.
  func resumeRecycling() { lock.locked { recycles = true } }

  /// Removes the active segment's file, the files of segments that were not begun, and the kept files.
  func removeFiles(and active: String) {
    lock.locked {
      let own = [spare?.file.path].compactMap { $0 } + unused.map(\.path) + abandoned
      for path in [active] + own { try? files.remove(path) }
      spare = nil
      unused.removeAll()
      abandoned.removeAll()
    }
  }
}
