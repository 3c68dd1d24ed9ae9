import CLinux
import Glibc
package import RuledCore

/// Takes the bytes of a file piece by piece: computes its size and its checksum, and writes them durably to a new file, if it has a folder for it.
package final class FileReceiver {
  /// The most bytes of one read or write; the checksum of each part goes into that of the next, so this must not change.
  static let part = 1 << 20

  private let name: String
  private let path: String
  /// The new file; nil without a folder.
  private let descriptor: Int32?
  private let pending = UnsafeMutableRawBufferPointer.allocate(byteCount: part, alignment: 4096)
  private var pendingBytes = 0
  private var (bytes, sum) = (0, UInt64(0))

  /// A receiver of the file `name`, which it makes below the folder `target` if there is one.
  package init(_ name: String, in target: String? = nil) throws(StoreError) {
    self.name = name
    path = "\(target ?? "")/\(name)"
    descriptor = target == nil ? nil : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor == -1 { throw StoreError.system("the file \(path) can't be made", errno) }
  }

  deinit {
    if let descriptor, descriptor >= 0 { close(descriptor) }
    pending.deallocate()
  }

  package func append(_ bytes: ByteView) throws(StoreError) {
    var rest = bytes
    while !rest.isEmpty {
      if pendingBytes == 0, rest.count >= Self.part {
        try add(rest.extracting(first: Self.part))
        rest = rest.extracting(droppingFirst: Self.part)
        continue
      }
      let count = min(rest.count, Self.part - pendingBytes)
      if let start = rest.baseAddress, let room = pending.baseAddress {
        memcpy(room + pendingBytes, start, count)
      }
      pendingBytes += count
      rest = rest.extracting(droppingFirst: count)
      if pendingBytes == Self.part { try addPending() }
    }
  }

  /// Drops the received bytes, to begin again.
  package func restart() throws(StoreError) {
    (pendingBytes, bytes, sum) = (0, 0, 0)
    if let descriptor, ftruncate(descriptor, 0) != 0 {
      throw StoreError.system("the file \(path) can't be written", errno)
    }
  }

  /// Ends the file, which is durable then; gives its size and its checksum.
  package func finish() throws(StoreError) -> FileSum {
    try addPending()
    if let descriptor, fsync(descriptor) != 0 { throw StoreError.system("the file \(path) can't be synced", errno) }
    return FileSum(name: name, bytes: bytes, sum: sum)
  }

  private func addPending() throws(StoreError) {
    guard pendingBytes > 0 else { return }
    try add(ByteView(start: pending.baseAddress, count: pendingBytes))
    pendingBytes = 0
  }

  /// Adds a part: all are of the same size but for the last one.
  private func add(_ part: ByteView) throws(StoreError) {
    sum = hash64(part, seed: sum)
    if let descriptor {
      try write(part, to: descriptor)
      cl_begin_sync(descriptor, Int64(bytes), Int64(part.count))
    }
    bytes += part.count
  }

  private func write(_ part: ByteView, to descriptor: Int32) throws(StoreError) {
    let done = moveWhole(part.count) { done in
      pwrite(descriptor, part.baseAddress.map { $0 + done }, part.count - done, off_t(bytes + done))
    }
    guard done == part.count else { throw StoreError.system("the file \(path) can't be written", errno) }
  }
}
