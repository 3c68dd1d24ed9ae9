package import RuledCore
import RuledStore

/// The snapshots in a journal's folder: copies of the store, each in a folder named by its sequence and time.
struct JournalSnapshots {
  /// The snapshots, the earliest first.
  private(set) var all: [JournalSnapshot] = []

  static let folderName = "snapshots"

  init(in folder: String, _ files: any FileSystem) {
    let folder = "\(folder)/\(Self.folderName)"
    for name in (try? files.names(in: folder)) ?? [] {
      let parts = name.split(separator: "-")
      guard parts.count == 2, let sequence = UInt64(parts[0], radix: 16), let at = UInt64(parts[1], radix: 16) else {
        continue
      }
      all.append(
        JournalSnapshot(
          sequence: sequence, at: Timestamp(microseconds: Int64(bitPattern: at)), path: "\(folder)/\(name)"))
    }
    all.sort { ($0.sequence, $0.at) < ($1.sequence, $1.at) }
  }

  static func name(_ sequence: UInt64, at time: Timestamp) -> String {
    sequence.digits(16, radix: 16) + "-" + UInt64(bitPattern: time.microseconds).digits(16, radix: 16)
  }
}

/// A copy of the store as it was right after one sequence, to replay from.
package struct JournalSnapshot: Sendable, Equatable {
  /// The last sequence that it contains.
  package var sequence: UInt64
  /// When it was taken, by the daemon's clock.
  package var at: Timestamp
  /// Its folder, a store that `RocksStore` opens; open a copy of it (`StoreCopy`), since opening a store changes it.
  package var path: String
}
