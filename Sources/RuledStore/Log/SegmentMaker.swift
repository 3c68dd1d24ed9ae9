import RuledCore
import RuledThreads

/// Makes segments of the log and their files: ahead of time, and of files and memory that are no longer needed where there are any.
///
/// A file joins the log when the manifest names it as the last; until then nothing in it counts.
final class SegmentMaker: @unchecked Sendable {  // what changes is guarded by `lock`
  /// A segment and its file.
  typealias Made = (segment: Segment, file: SegmentFile)

  private let files: any FileSystem
  private let folder: String
  private let settings: LogSettings
  private let manifest: LogManifest
  private let memory: SegmentMemoryPool
  /// Held by whoever makes a segment.
  private let lock = Condition()
  /// The segment before the next: the one that was handed out last, or the last one recovered, and where that ends if it has no seal.
  private var current: (number: UInt64, end: Int)
  /// The number of the next file; each is used once.
  private var nextNumber: UInt64
  /// Files of segments that are no longer needed, and whether all of them was written to.
  private var unused: [(path: String, isWrittenAhead: Bool)] = []
  /// A segment made ahead of time.
  private var spare: Made?
  /// Files that were given up, and go once the manifest names a later one.
  private var abandoned: [String] = []

  /// A maker of the segments in `folder` behind the one of that number, which ends there if it has no seal.
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

  /// The segment after the active one, with room for a commit of so many bytes.
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

  /// The segment that goes on after the one of that number has failed, which ends at `end`, with room for commits of so many bytes.
  ///
  /// The manifest does not name its file until `join`: until then the one before it ends where its own commits end, so that those which count beyond `end`
  /// are never in neither, and nobody relies on a header that may be torn.
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

  /// Makes a replacement part of the log, which holds all that it has to and is durable.
  func join(_ made: Made) throws(StoreError) {
    try lock.locked { () throws(StoreError) in try manifest.change { $0.last = made.segment.number } }
  }

  private func change(_ made: Made, toFollow number: UInt64, endingAt end: Int) throws(StoreError) {
    try manifest.change { $0.last = number }
    made.segment.follow(number, endingAt: end)
    try made.file.write(UnsafeRawBufferPointer(start: made.segment.base, count: LogFrame.fileHeader), at: 0)
    try made.file.sync()
  }

  /// Takes back a segment that was handed out and not written to, as the one of that number before it goes on or gets a replacement.
  func takeBack(_ made: Made, after number: UInt64) {
    lock.locked {
      if let later = spare { abandoned.append(later.file.path) }
      spare = made
      current = (number, 0)
    }
  }

  /// Gives a segment up whose file could not be written: what stands in it is not known, and never counts, as the one of that number before it, which ends
  /// at `end`, gets another successor.
  func giveUp(_ made: Made, after number: UInt64, endingAt end: Int) {
    lock.locked {
      current = (number, end)
      abandoned.append(made.file.path)
    }
  }

  /// Makes the next segment ahead of time, if there is none, so that no commit has to wait for it.
  func prepare() throws(StoreError) {
    try lock.locked { () throws(StoreError) in
      if spare == nil { spare = try make(0) }
    }
  }

  /// Writes to all of the next segment's file ahead of time; says whether that is done.
  ///
  /// It is done in parts, so that a commit which needs the segment meanwhile gets it.
  func writeAhead() -> Bool {
    while lock.locked({ writePartAhead() }) {}
    return lock.locked { spare?.segment.isWrittenAhead ?? false }
  }

  /// Writes to a part of the next segment's file; says whether there is more to do.
  private func writePartAhead() -> Bool {
    guard let spare, !spare.segment.isWrittenAhead else { return false }
    do throws(StoreError) {
      spare.segment.isWrittenAhead = try spare.file.writeAhead(to: spare.segment.capacity)
    } catch {
      return false
    }
    return !spare.segment.isWrittenAhead
  }

  /// Gives back memory that is kept for segments to come.
  func releaseMemory() {
    memory.empty()
    lock.locked { spare?.segment.releaseUnused() }
  }

  /// Keeps the file of a segment to be written over, if it is one of the usual size, and otherwise removes it.
  func recycle(_ segment: Segment) {
    let path = RedoLog.path(segment.number, in: folder)
    lock.locked {
      let kept = path + ".unused"
      if segment.capacity == settings.segmentBytes, unused.count < 2, (try? files.rename(path, to: kept)) != nil {
        unused.append((kept, segment.isWrittenAhead))
      } else {
        try? files.remove(path)
      }
    }
  }

  /// Removes the active segment's file, those of segments that were not begun, and those that are kept.
  func removeFiles(and active: String) {
    lock.locked {
      let own = [spare?.file.path].compactMap { $0 } + unused.map(\.path) + abandoned
      for path in [active] + own { try? files.remove(path) }
      spare = nil
      unused.removeAll()
      abandoned.removeAll()
    }
  }

  /// Makes a segment and its file, the last one of the log; or one that joins the log later, where the last one is `last` until then.
  private func make(_ payload: Int, joinsBehind last: UInt64? = nil) throws(StoreError) -> Made {
    let number = nextNumber
    nextNumber += 1
    let header = LogFrame.FileHeader(
      number: number, predecessor: current.number, predecessorEnd: current.end, length: 0)
    let segment = try Segment(header, payload: payload, settings: settings, pool: memory)
    let path = RedoLog.path(number, in: folder)
    let recycled = segment.capacity == settings.segmentBytes ? unused.popLast() : nil
    do throws(StoreError) {
      let file = try SegmentFile(creating: path, length: segment.capacity, recycled: recycled?.path, files)
      try file.write(UnsafeRawBufferPointer(start: segment.base, count: LogFrame.fileHeader), at: 0)
      try file.sync()
      try manifest.change {
        $0.last = last ?? number
        $0.next = number + 1
      }
      for path in abandoned { try? files.remove(path) }
      abandoned.removeAll()
      segment.isWrittenAhead = recycled?.isWrittenAhead ?? false
      return (segment, file)
    } catch {
      abandoned.append(path)
      throw error
    }
  }
}
