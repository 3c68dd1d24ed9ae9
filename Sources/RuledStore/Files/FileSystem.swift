/// The calls on files that the store makes, all of them: the operating system's, or those of a test that stands in for a disk.
///
/// A name is durable once its folder has been synced, and the bytes of a file once the file has been.
package protocol FileSystem: Sendable {
  /// Opens the file `path`.
  func open(_ path: String, _ mode: FileMode) throws(StoreError) -> any StoreFile

  /// Gives a file another name, in place of a file that has it.
  func rename(_ path: String, to target: String) throws(StoreError)

  /// Removes a name.
  func remove(_ path: String) throws(StoreError)

  /// Whether there is a file or a folder of that name.
  func exists(_ path: String) -> Bool

  /// The names in a folder, in no order, without `.` and `..`.
  func names(in folder: String) throws(StoreError) -> [String]

  /// Makes a folder and those that it lies in, where they don't exist yet, and makes their names durable.
  func createFolder(_ path: String) throws(StoreError)

  /// Makes durable which names a folder has.
  func syncFolder(_ path: String) throws(StoreError)
}

/// What a file is opened for.
package enum FileMode: Sendable {
  /// To read a file that exists.
  case read
  /// To read and write a file that exists.
  case update
  /// To write a new file, or an existing one anew from its beginning.
  case create
}

/// An open file, which is closed when nobody refers to it any longer.
package protocol StoreFile: AnyObject, Sendable {
  /// Where it lies.
  var path: String { get }

  /// How many bytes it has.
  func size() throws(StoreError) -> Int

  /// Fills `buffer` with the bytes from `offset` on; an error when there are fewer.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError)

  /// Writes bytes at `offset`; the operating system has them when this returns.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreError)

  /// Returns once all that was written, and the file's size, is on the disk.
  ///
  /// After an error the system may have dropped any of what was not synced before, and a later sync does not tell.
  func sync() throws(StoreError)

  /// Lets the file have so many bytes, zeros where there were none.
  func resize(to bytes: Int) throws(StoreError)

  /// Asks for room for so many bytes, which then read as zeros; false where the file system can't do that.
  func reserve(_ bytes: Int) -> Bool

  /// Lets the system begin to bring a part to the disk; nothing is promised.
  func beginWriteback(at offset: Int, count: Int)
}
