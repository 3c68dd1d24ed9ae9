package import RuledCore

/// An open file, which is closed with its last reference.
package protocol StoreFile: AnyObject, Sendable {
  var path: String { get }

  func size() throws(StoreError) -> Int

  /// Fills `buffer` with the bytes from `offset` on; an error when there are fewer.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError)

  /// Writes bytes at `offset`; the kernel has them when this returns.
  func write(_ bytes: ByteView, at offset: Int) throws(StoreError)

  /// Makes all writes and the file's size durable; fails too if the file has been removed.
  ///
  /// After an error the kernel may have dropped any unsynced bytes; a later sync does not report them.
  func sync() throws(StoreError)

  /// Sets the size of the file; new bytes are zeros.
  func resize(to bytes: Int) throws(StoreError)

  /// Reserves that many bytes, which read as zeros; false where the file system can't do that.
  func reserve(_ bytes: Int) -> Bool

  /// Asks the kernel to begin writing a part to the disk; it promises nothing.
  func beginWriteback(at offset: Int, count: Int)
}

extension StoreFile {
  /// Appends `count` bytes from `offset` on to `buffer`; an error, and nothing appended, when there are fewer.
  package func read(_ count: Int, at offset: Int, into buffer: ByteBuffer) throws(StoreError) {
    try buffer.append(upTo: count) { (span) throws(StoreError) in
      try span.withUnsafeMutableBytes { (room, length) throws(StoreError) in
        try read(into: room, at: offset)
        length = room.count
      }
    }
  }
}
