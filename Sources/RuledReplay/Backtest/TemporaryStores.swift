import Glibc
import RuledStore

/// The stores of a replay's two sides, in a folder that is removed at the end: state that does not fit into memory is there.
final class TemporaryStores {
  let baseline: RocksStore
  let candidate: RocksStore
  private let copies: [StoreCopy]

  /// Stores that begin as copies of the snapshot at `path`, or empty without one.
  init(of path: String?, in folder: String) throws(StoreError) {
    let first = try StoreCopy(of: path, in: folder, name: "baseline-\(getpid())")
    let second = try StoreCopy(of: path, in: folder, name: "candidate-\(getpid())")
    copies = [first, second]
    baseline = try RocksStore(temporary: first.folder)
    candidate = try RocksStore(temporary: second.folder)
  }

  deinit {
    baseline.abandon()
    candidate.abandon()
  }
}
