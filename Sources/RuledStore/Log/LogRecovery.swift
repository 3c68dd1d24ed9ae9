import Glibc

/// Takes up what an earlier process left in the redo log.
enum LogRecovery {
  /// The segments in `folder`, the earliest first, each sealed and whole.
  ///
  /// What stands behind the last whole commit of the latest file that has any was never acknowledged, or not yet synced, and is dropped. A file
  /// before it must be complete: when it is not, bytes that were durable are gone, and that is an error.
  static func segments(in folder: String) throws(StoreError) -> [Segment] {
    let names = try Folder.names(folder)
    for name in names where [".new", ".unused", ".sst"].contains(where: name.hasSuffix) { unlink("\(folder)/\(name)") }
    let numbers = names.compactMap { name -> UInt64? in
      guard name.hasSuffix(".log") else { return nil }
      return UInt64(name.dropLast(4))
    }.sorted()
    var found: [Recovered] = []
    for number in numbers { found.append(try read(RedoLog.path(number, in: folder), number: number)) }
    let latest = found.lastIndex { !$0.segment.isEmpty } ?? 0
    for (place, file) in found.enumerated() {
      guard file.isSealed || place >= latest else { throw damaged(file.path, at: file.segment.used) }
      if file.segment.isEmpty { unlink(file.path) } else if !file.isSealed { try seal(file) }
    }
    return found.map(\.segment).filter { !$0.isEmpty }
  }

  /// What was found in a file.
  private struct Recovered {
    let path: String
    let segment: Segment
    let isSealed: Bool
  }

  private static func read(_ path: String, number: UInt64) throws(StoreError) -> Recovered {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError.system("the log \(path) can't be opened", errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw StoreError.system("the log \(path) can't be read", errno) }
    let length = Int(status.st_size)
    let segment = try Segment(number: number, payload: length)
    var read = 0
    while read < length {
      let count = pread(descriptor, segment.base + read, length - read, off_t(read))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw StoreError.system("the log \(path) can't be read", count < 0 ? errno : EIO) }
      read += count
    }
    let file = UnsafeRawBufferPointer(start: segment.base, count: length)
    guard LogFrame.fileNumber(file) == number else { return Recovered(path: path, segment: segment, isSealed: false) }
    while true {
      switch LogFrame.read(file, at: segment.used, number: number) {
      case .frame(let payload): segment.recover(payload: payload)
      case .seal: return Recovered(path: path, segment: segment, isSealed: true)
      case .nothing: return Recovered(path: path, segment: segment, isSealed: false)
      }
    }
  }

  /// Ends a file behind its last whole commit.
  private static func seal(_ found: Recovered) throws(StoreError) {
    let offset = found.segment.used
    let seal = found.segment.stageSeal()
    let file = try SegmentFile(opening: found.path)
    try file.write(seal, at: offset)
    try file.finish(at: offset + seal.count)
  }

  private static func damaged(_ path: String, at offset: Int) -> StoreError {
    StoreError(
      .corrupt, "the log \(path) is damaged at byte \(offset), and later commits build on it: restore a backup",
      underlying: "no whole frame, and no seal")
  }
}
