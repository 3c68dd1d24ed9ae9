/// The list of a backup's files: a first line that says what it is, then a line with size and name for each.
struct BackupList {
  var files: [(name: String, bytes: Int)]

  private static let title = "backup of a store of ruled, 1"

  var text: String { ([Self.title] + files.map { "\($0.bytes) \($0.name)" }).map { $0 + "\n" }.joined() }

  init(files: [(name: String, bytes: Int)]) { self.files = files }

  init(of folder: String) throws(StoreError) {
    let path = "\(folder)/\(BackupFolder.list)"
    let lines = String(decoding: try SystemFiles().contents(of: path), as: UTF8.self).split(separator: "\n")
    guard lines.first == Self.title[...] else {
      throw StoreError(.refused, "\(path) is not a list that this version of ruled writes; use another backup")
    }
    files = []
    for line in lines.dropFirst() {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let bytes = Int(parts[0]), !parts[1].contains("..") else {
        throw StoreError(.corrupt, "\(path) is damaged: use another backup", underlying: String(line))
      }
      files.append((String(parts[1]), bytes))
    }
  }
}
