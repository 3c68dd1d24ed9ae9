import Glibc

/// The number of file descriptors, of the process's limit, that a store on disk takes.
package enum StoreDescriptors {
  /// Files that the database keeps open, at most; fewer where the process may have few, since it opens them again.
  private static let mostFiles = 512
  private static let fewestFiles = 32
  /// The log's files, files being written, and the database's own beside its data.
  private static let others = 32

  /// The number where there are enough.
  package static let most = mostFiles + others

  /// The number where the process may have `limit`.
  package static func count(within limit: Int) -> Int { files(within: limit) + others }

  /// The number of data files among them.
  static func files(within limit: Int) -> Int { min(mostFiles, max(fewestFiles, limit / 4)) }

  static var limit: Int {
    var limit = rlimit()
    return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
      ? Int(clamping: limit.rlim_cur) : mostFiles
  }
}
