import Glibc
package import RuledCore

/// A file below a folder, with the size and the checksum that a copy must have.
package struct FileSum: Sendable, Equatable {
  /// Its path from the folder on.
  package let name: String
  package let bytes: Int
  package let sum: UInt64

  package init(name: String, bytes: Int, sum: UInt64) {
    self.name = name
    self.bytes = bytes
    self.sum = sum
  }

  /// Reads a file, and copies it durably to a new one in the folder `target` if there is one; `body` gets each part, and may throw to end it.
  ///
  /// With `fromDisk` it asks the system to read from the disk, not from the page cache.
  package static func read(
    _ name: String, in folder: String, copyTo target: String? = nil, fromDisk: Bool = false,
    body: (ByteView) throws(StoreError) -> Void
  ) throws(StoreError) -> FileSum {
    let path = "\(folder)/\(name)"
    let source = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard source >= 0 else { throw StoreError.system("the file \(path) can't be opened", errno) }
    defer { close(source) }
    let receiver = try FileReceiver(name, in: target)
    if fromDisk { posix_fadvise(source, 0, 0, POSIX_FADV_DONTNEED) }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: FileReceiver.part, alignment: 4096)
    defer { room.deallocate() }
    while true {
      let count = moveWhole(room.count) { done in
        Glibc.read(source, room.baseAddress.map { $0 + done }, room.count - done)
      }
      guard let count else { throw StoreError.system("the file \(path) can't be read", errno) }
      guard count > 0 else { break }
      let part = ByteView(start: room.baseAddress, count: count)
      try receiver.append(part)
      try body(part)
    }
    return try receiver.finish()
  }
}
