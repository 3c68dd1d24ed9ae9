import RuledCore
import RuledStore

/// The snapshots in a journal's folder: each a copy of the store, in a folder named by its sequence and its time.
struct JournalSnapshots {
  /// The snapshots, the earliest first.
  private(set) var all: [JournalSnapshot] = []

  static let folderName = "snapshots"

  /// The snapshots in a journal's folder.
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

  /// The name of a snapshot's folder.
  static func name(_ sequence: UInt64, at time: Timestamp) -> String {
    func hex(_ value: UInt64) -> String {
      let digits = String(value, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return "\(hex(sequence))-\(hex(UInt64(bitPattern: time.microseconds)))"
  }
}

extension Journal {
  /// The snapshots, the earliest first.
  package var snapshots: [JournalSnapshot] { JournalSnapshots(in: folder, files).all }
}
