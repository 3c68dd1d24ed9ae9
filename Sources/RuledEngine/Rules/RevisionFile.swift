import RuledCore
import RuledJSON
import RuledStore

struct RevisionFile {
  private let files: any FileSystem
  private let path: String

  /// The file at a path, which need not exist.
  init(_ files: any FileSystem, _ path: String) {
    self.files = files
    self.path = path
  }

  /// Whether a name is that of a file that a crash left half written.
  static func isUnfinished(_ name: String) -> Bool { name.hasSuffix(".new") }

  static func damaged(_ path: String, _ reason: String) -> StoreError {
    StoreError(
      .corrupt, "the archived revision \(path) is damaged: \(reason); load the same rules again, or remove the file")
  }

  /// Writes the file in one step, durably.
  func write(_ revision: RevisionArchive.Revision) throws(StoreError) {
    let buffer = ByteBuffer(capacity: 1 << 16)
    RevisionDocument.description(of: revision.entry).write(to: buffer)
    buffer.append(UInt8(ascii: "\n"))
    RevisionDocument.content(of: revision).write(to: buffer)
    buffer.append(UInt8(ascii: "\n"))
    let digest = SHA256.hash(buffer.bytes).hex
    buffer.append(contentsOf: digest)
    buffer.append(UInt8(ascii: "\n"))
    defer { withExtendedLifetime(buffer) {} }
    try files.replace(path, with: buffer.bytes)
  }

  /// The description, which is the first line.
  func entry() throws(StoreError) -> RevisionArchive.Entry {
    let file = try files.open(path, .read)
    let size = try file.size()
    var length = min(size, 4096)
    let buffer = ByteBuffer(capacity: length)
    while true {
      buffer.removeAll()
      try file.read(length, at: 0, into: buffer)
      let bytes = Array(buffer.bytes)
      if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) { return try entry(bytes[..<end]) }
      guard length < size else { throw Self.damaged(path, "it has no first line") }
      length = min(size, length * 4)
    }
  }

  func read() throws(StoreError) -> RevisionArchive.Revision {
    let lines = try self.lines()
    guard let content = Self.json(lines[1]),
      let revision = RevisionDocument.revision(try entry(lines[0]), content: content)
    else { throw Self.damaged(path, "its content has another form") }
    return revision
  }

  /// Throws if the file is missing, or not as it was written.
  func check() throws(StoreError) { _ = try lines() }

  /// The lines of the file, which is as it was written.
  private func lines() throws(StoreError) -> [ArraySlice<UInt8>] {
    guard files.exists(path) else {
      throw StoreError(.corrupt, "the archived revision \(path) is missing; load the same rules again")
    }
    let bytes = try files.contents(of: path)
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.count == 4, lines[3].isEmpty else { throw Self.damaged(path, "it does not have three lines") }
    let signed = bytes[..<lines[2].startIndex]
    guard signed.withView({ SHA256.hash($0).hex.utf8.elementsEqual(lines[2]) }) else {
      throw Self.damaged(path, "its digest is another")
    }
    return lines
  }

  private func entry(_ line: ArraySlice<UInt8>) throws(StoreError) -> RevisionArchive.Entry {
    guard let entry = Self.json(line).flatMap(RevisionDocument.entry) else {
      throw Self.damaged(path, "its first line has another form")
    }
    guard path.hasSuffix("/\(entry.revision)") else { throw Self.damaged(path, "it is that of another revision") }
    return entry
  }

  private static func json(_ line: ArraySlice<UInt8>) -> JSONValue? {
    line.withView { try? JSONValue(parsing: $0, maximumDepth: RevisionDocument.depth) }
  }
}
