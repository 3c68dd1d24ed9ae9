/// Whether a store takes commits: the one state for the log, its flush thread, the store and the commit pipeline.
///
/// | state | an append | a sync | is left |
/// | --- | --- | --- | --- |
/// | `open` | is written | commits all appends | for `sealing` when the active segment is full or to be flushed; for `failed` after a failed write or sync |
/// | `sealing` | waits | waits | for `open` with the next segment; for `failed` after a failed write or sync; for `suspended` if there can be no next segment |
/// | `failed` | is refused | commits the appends before the failed write; is refused if there are none | for `suspended` when another file took its place |
/// | `suspended` | is refused | is refused | for `open` by `reopen()`, once all committers know which commits were lost |
/// | `closed` | is refused | is refused | never; each state is left for this one by `close()` |
///
/// A failed sync discards all uncommitted appends, and replaces the file at once. When that fails too, `reopen()` tries it again.
package enum StoreState: Sendable {
  case open
  /// The active segment is being synced and sealed, and the next one begun.
  case sealing
  /// A write or a sync of the active segment's file failed, so that nothing more is written there.
  case failed(StoreError)
  /// The log could go on, but `reopen()` has not been called since a failure.
  case suspended(StoreError)
  case closed

  /// The failure that bars appends until `reopen()` succeeds; nil without one.
  package var failure: StoreError? {
    switch self {
    case .failed(let error), .suspended(let error): error
    case .open, .sealing, .closed: nil
    }
  }
}
