import Glibc
import RuledCore

/// Makes segments of the log and their files: ahead of time, and of files and memory that are no longer needed where there are any.
final class SegmentMaker: @unchecked Sendable {  // what changes is guarded by `lock`
  private let folder: String
  private let memory = SegmentMemoryPool()
  /// Held by whoever makes a segment.
  private let lock = Condition()
  /// The number of the segment that is made next.
  private var nextNumber: UInt64
  /// Files of segments that are no longer needed, and whether all of them was written to.
  private var unused: [(path: String, isWrittenAhead: Bool)] = []
  /// A segment made ahead of time.
  private var spare: (segment: Segment, file: SegmentFile)?

  /// A maker of the segments in `folder` behind the one of that number.
  init(folder: String, after number: UInt64) {
    self.folder = folder
    nextNumber = number + 1
  }

  /// The segment after the active one, with room for a commit of so many bytes.
  func successor(for payload: Int) throws(StoreError) -> (segment: Segment, file: SegmentFile) {
    try lock.locked { () throws(StoreError) in
      if let ready = spare {
        spare = nil
        if ready.segment.hasRoom(for: payload) { return ready }
        unlink(ready.file.path)
      }
      return try make(payload)
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
  func rest() {
    memory.empty()
    lock.locked { spare?.segment.rest() }
  }

  private func make(_ payload: Int) throws(StoreError) -> (segment: Segment, file: SegmentFile) {
    let segment = try Segment(number: nextNumber, payload: payload, pool: memory)
    nextNumber += 1
    let recycled = segment.capacity == Segment.usualCapacity ? unused.popLast() : nil
    do throws(StoreError) {
      let file = try begin(segment, recycled: recycled?.path)
      segment.isWrittenAhead = recycled?.isWrittenAhead ?? false
      return (segment, file)
    } catch {
      unlink(RedoLog.path(segment.number, in: folder))
      throw error
    }
  }

  /// Takes a segment back that was not begun.
  func takeBack(_ segment: (segment: Segment, file: SegmentFile)) {
    lock.locked {
      if let other = spare { unlink(other.file.path) }
      spare = segment
    }
  }

  /// Keeps the file of a segment to be written over, if it is one of the usual size, and otherwise removes it.
  func recycle(_ segment: Segment) {
    let path = RedoLog.path(segment.number, in: folder)
    lock.locked {
      let kept = path + ".unused"
      if segment.capacity == Segment.usualCapacity, unused.count < 2, rename(path, kept) == 0 {
        unused.append((kept, segment.isWrittenAhead))
      } else {
        unlink(path)
      }
    }
  }

  /// Removes the files of segments that were not begun, and those that are kept.
  func removeFiles() {
    lock.locked {
      if let spare { unlink(spare.file.path) }
      for file in unused { unlink(file.path) }
    }
  }

  private func begin(_ segment: Segment, recycled: String?) throws(StoreError) -> SegmentFile {
    let file = try SegmentFile(
      creating: RedoLog.path(segment.number, in: folder), capacity: segment.capacity, recycled: recycled)
    try file.write(UnsafeRawBufferPointer(start: segment.base, count: LogFrame.fileHeader), at: 0)
    try file.sync()
    try Folder.sync(folder)
    return file
  }
}
