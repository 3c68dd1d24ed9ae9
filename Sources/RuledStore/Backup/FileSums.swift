import CLinux
import Glibc
import RuledCore

/// A file below a folder, with its size and its checksum: what a copy of it is checked against.
package struct FileSum: Sendable, Equatable {
  /// Its path from the folder on.
  package let name: String
  /// How many bytes it has.
  package let bytes: Int
  /// The checksum of its bytes.
  package let sum: UInt64

  /// A file.
  package init(name: String, bytes: Int, sum: UInt64) {
    self.name = name
    self.bytes = bytes
    self.sum = sum
  }

  /// How many bytes are read at once; the checksum of each such part goes into that of the next, so that it must not change.
  private static let part = 1 << 20

  /// Reads a file, and copies it durably to a new one in the folder `target` if there is one; `progress` gets the bytes of each part, and may throw to end it.
  ///
  /// Without a target it asks the system for what the disk has, and not for what was written a moment ago.
  static func read(
    _ name: String, in folder: String, copyTo target: String? = nil, progress: (Int) throws(StoreError) -> Void
  ) throws(StoreError) -> FileSum {
    let path = "\(folder)/\(name)"
    let source = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard source >= 0 else { throw StoreError.system("the file \(path) can't be opened", errno) }
    defer { close(source) }
    let copy = target.map { open("\($0)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
    if let target, copy == -1 { throw StoreError.system("the file \(target)/\(name) can't be made", errno) }
    defer { if let copy { close(copy) } }
    if copy == nil { posix_fadvise(source, 0, 0, POSIX_FADV_DONTNEED) }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: part, alignment: 4096)
    defer { room.deallocate() }
    var (bytes, sum) = (0, UInt64(0))
    while true {
      let count = try fill(room, from: source, path)
      guard count > 0 else { break }
      sum = hash64(ByteView(start: room.baseAddress, count: count), seed: sum)
      if let copy, let target {
        try write(room, count, to: copy, "\(target)/\(name)")
        cl_begin_sync(copy, Int64(bytes), Int64(count))
      }
      bytes += count
      try progress(count)
    }
    if let copy, fsync(copy) != 0 { throw StoreError.system("the file \(target ?? "")/\(name) can't be synced", errno) }
    return FileSum(name: name, bytes: bytes, sum: sum)
  }

  /// Reads until the room is full or the file ends; gives how many bytes.
  private static func fill(
    _ room: UnsafeMutableRawBufferPointer, from source: Int32, _ path: String
  ) throws(StoreError) -> Int {
    var done = 0
    while done < room.count {
      let count = Glibc.read(source, room.baseAddress.map { $0 + done }, room.count - done)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw StoreError.system("the file \(path) can't be read", errno) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  private static func write(
    _ room: UnsafeMutableRawBufferPointer, _ total: Int, to copy: Int32, _ path: String
  ) throws(StoreError) {
    var done = 0
    while done < total {
      let count = Glibc.write(copy, room.baseAddress.map { $0 + done }, total - done)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw StoreError.system("the file \(path) can't be written", errno) }
      done += count
    }
  }
}

/// Copies of a store's files with their checksums.
package enum FileSums {
  /// The files below `folder` and their bytes together.
  package static func size(of folder: String) throws(StoreError) -> Int {
    try BackupFiles.list(folder).reduce(0) { $0 + $1.bytes }
  }

  /// Copies all files below `folder` into the new folder `target`, durably; gives them with their checksums, in order of name.
  package static func copyAll(
    from folder: String, to target: String, progress: (Int) throws(StoreError) -> Void
  ) throws(StoreError) -> [FileSum] {
    let names = try BackupFiles.list(folder).map(\.name)
    return try BackupFiles.writeFiles(names, to: target) { () throws(StoreError) in
      var sums: [FileSum] = []
      for name in names { sums.append(try FileSum.read(name, in: folder, copyTo: target, progress: progress)) }
      return sums
    }
  }

  /// Copies the files of a list from `folder` into the new folder `target`, durably; throws `corrupt` for one that is not what the list says.
  package static func copy(
    _ files: [FileSum], from folder: String, to target: String, progress: (Int) throws(StoreError) -> Void
  ) throws(StoreError) {
    try BackupFiles.writeFiles(files.map(\.name), to: target) { () throws(StoreError) in
      for file in files {
        guard try FileSum.read(file.name, in: folder, copyTo: target, progress: progress) == file else {
          throw damaged("\(folder)/\(file.name)")
        }
      }
    }
  }

  /// Reads the files of a list in `folder`; throws `corrupt` for one that is not what the list says.
  package static func check(
    _ files: [FileSum], in folder: String, progress: (Int) throws(StoreError) -> Void
  ) throws(StoreError) {
    for file in files {
      guard try FileSum.read(file.name, in: folder, progress: progress) == file else {
        throw damaged("\(folder)/\(file.name)")
      }
    }
  }

  private static func damaged(_ path: String) -> StoreError {
    StoreError(.corrupt, "the file \(path) is damaged: its bytes are not those that were written")
  }
}
