import RuledCore

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

  /// Gives a segment up whose file could not be written: what stands in it is not known, and never counts, as the one before it, of that number, gets
  /// another successor.
  func giveUp(_ made: Made, after number: UInt64) {
    lock.locked {
      current = (number, 0)
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

  private func make(_ payload: Int) throws(StoreError) -> Made {
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
        $0.last = number
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
