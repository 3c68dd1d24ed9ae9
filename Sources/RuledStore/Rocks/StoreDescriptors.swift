import Glibc

/// How many file descriptors a store on disk takes of those that the process may have.
package enum StoreDescriptors {
  /// Files that the database keeps open, at most; fewer where the process may have few, since it opens them again.
  private static let mostFiles = 512
  private static let fewestFiles = 32
  /// The log's files, those that are being written, and the database's own beside its data.
  private static let others = 32

  /// How many it takes where there are enough.
  package static let most = mostFiles + others
  /// How many it takes where there are few.
  package static let fewest = fewestFiles + others

  /// How many it takes where the process may have `limit`.
  package static func count(within limit: Int) -> Int { files(within: limit) + others }

  /// How many of them are data files.
  static func files(within limit: Int) -> Int { min(mostFiles, max(fewestFiles, limit / 4)) }

  /// How many the process may have.
  static var limit: Int {
    var limit = rlimit()
    return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
      ? Int(clamping: limit.rlim_cur) : mostFiles
  }
}
