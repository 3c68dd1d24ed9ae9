import RuledCore
import RuledStore

/// The list of a snapshot's files, with its cluster and its position in the log; the last line is the checksum of the others.
struct SnapshotManifest: Equatable {
  var cluster: String
  /// The position up to which the store has played the log back.
  var position: LogPosition
  var format: Int
  var files: [FileSum]

  /// The name of the list's file.
  static let name = "SNAPSHOT"
  private static let title = "snapshot of a node's store of ruled, 1"

  var bytes: Int { files.reduce(0) { $0 + $1.bytes } }
}

extension SnapshotManifest {
  var text: String {
    let digest = position.digest.map { $0.digits(2, radix: 16) }.joined()
    let lines =
      [Self.title, "\(cluster) \(position.sequence) \(digest) \(format)"]
      + files.map { "\(Self.hex($0.sum)) \($0.bytes) \($0.name)" }
    let text = lines.map { $0 + "\n" }.joined()
    return text + "\(Self.sum(of: text))\n"
  }

  /// The list stored at `path` as these bytes; throws `corrupt` if they are damaged.
  init(_ bytes: [UInt8], at path: String) throws(StoreError) {
    let damaged = StoreError(.corrupt, "the file \(path) is damaged: its bytes are not those that were written")
    let lines = bytes.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard lines.count > 3, lines.last?.isEmpty == true, let first = lines.first else { throw damaged }
    let text = lines.dropLast(2).map { $0 + "\n" }.joined()
    guard lines[lines.count - 2] == Self.sum(of: text) else { throw damaged }
    guard first == Self.title else {
      throw StoreError(.newerFormat, "a later version of ruled wrote the list \(path): install that version here")
    }
    let fields = lines[1].split(separator: " ")
    guard fields.count == 4, let sequence = Int64(fields[1]), let format = Int(fields[3]) else { throw damaged }
    let digits = fields[2].utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    let digest = stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    var files: [FileSum] = []
    for line in lines[2..<(lines.count - 2)] {
      let parts = line.split(separator: " ", maxSplits: 2)
      guard parts.count == 3, let sum = UInt64(parts[0], radix: 16), let bytes = Int(parts[1]),
        !parts[2].split(separator: "/").contains("..")
      else { throw damaged }
      files.append(FileSum(name: String(parts[2]), bytes: bytes, sum: sum))
    }
    let position = LogPosition(sequence: sequence, digest: digest)
    self.init(cluster: String(fields[0]), position: position, format: format, files: files)
  }

  private static func hex(_ value: UInt64) -> String { String(value, radix: 16) }

  private static func sum(of text: String) -> String { hex(text.withView { hash64($0, seed: 1) }) }
}
