package enum StoreURL: Sendable, Equatable {
  /// In memory, gone with the process: `memory:`.
  case memory
  /// In a RocksDB database in that folder: `rocksdb:/path`.
  case rocksdb(path: String)
  /// In a log of commits that nodes share, in the PostgreSQL database at that URL: `postgresql://…`.
  case postgresql(url: String)

  package init?(_ text: String) {
    if text == "memory:" {
      self = .memory
      return
    }
    if text.hasPrefix("postgresql://"), !text.utf8.contains(0) {
      self = .postgresql(url: text)
      return
    }
    let scheme = "rocksdb:"
    guard text.hasPrefix(scheme) else { return nil }
    let path = String(text.dropFirst(scheme.count))
    guard !path.isEmpty, !path.utf8.contains(0) else { return nil }
    self = .rocksdb(path: path)
  }
}
