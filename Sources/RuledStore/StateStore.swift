package import RuledCore

/// Where subjects live: an ordered map of bytes that takes writes all together or not at all.
///
/// Keys and records are laid out by `StoreKey` and `SubjectRecord`. Reads may come from any thread at any time. Commits
/// are meant for one committer; further threads that commit wait for each other.
package protocol StateStore: AnyObject, Sendable {
  /// What `health` calls the store: `rocksdb` or `memory`.
  var name: String { get }

  /// How much room the contents take, about, in bytes.
  var approximateBytes: Int { get }

  /// Appends the value under `key` to `buffer` and says whether there is one.
  func get(_ key: UnsafeRawBufferPointer, into buffer: ByteBuffer) throws(StoreError) -> Bool

  /// Applies `set` whole or not at all.
  ///
  /// With `durable` the writes, and all that were committed before, have reached the disk when this returns. After an
  /// error nothing of `set` is applied, unless the error says that this is not known, and every further commit fails until `reopen()` has succeeded.
  /// Where appends before it do not count yet, it waits for them.
  func commit(_ set: WriteSet, durable: Bool) throws(StoreError)

  /// Writes `set`, whole or not at all, behind what came before; gives its number, of which later ones have higher.
  ///
  /// It is found and counts once `sync()` has made it durable: should that fail, nothing of it is applied. An error is like that of a commit, and leaves alone
  /// what was appended before.
  func append(_ set: WriteSet) throws(StoreError) -> UInt64

  /// Makes durable what has been committed and appended; gives the number of the last append that counts.
  ///
  /// An error is like that of a commit, for all that did not count before. Others may append meanwhile.
  @discardableResult
  func sync() throws(StoreError) -> UInt64

  /// The number of the last append that counts.
  var lastCommitted: UInt64 { get }

  /// Rids the store of what a failed commit left, so that it takes commits again.
  ///
  /// Must not be called from within `withCursor` or `scan`. When it fails, commits go on failing and it may be tried again.
  func reopen() throws(StoreError)

  /// What goes wrong in the background, while commits still succeed; nil when nothing does.
  var problem: StoreError? { get }

  /// Calls `body` with a cursor over the keys below `upper` as they are now.
  ///
  /// One cursor serves many seeks; what is committed meanwhile does not show. It ends with the call.
  func withCursor(
    below upper: UnsafeRawBufferPointer?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError)

  /// Writes a consistent copy of the contents, which can be opened as a store, into the new folder `path`.
  func checkpoint(to path: String) throws(StoreError)

  /// Lets remembered outcomes that expire before `cutoff`, in microseconds since 1970, be dropped.
  ///
  /// They go when the store next tidies up, so a reader still has to compare the time that stands in the value.
  func expire(before cutoff: Int64)

  /// Makes durable what has been committed and releases the files; every later call fails with `closed`.
  func close() throws(StoreError)
}
