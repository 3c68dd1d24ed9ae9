package enum SnapshotLocation: Sendable, Equatable {
  /// A folder that all nodes share.
  case folder(String)
  /// A bucket of an object store that all nodes reach.
  case bucket(ObjectBucket)
}

extension SnapshotLocation {
  /// The location in the section `cluster`: a folder, or a bucket with the keys of `s3`; nil for none, or if something is wrong, which is noted.
  init?(_ section: ConfigurationSection) {
    let place = section.path("snapshots")
    guard let place, let (name, prefix) = Self.bucket(in: place) else {
      let isURL = place?.contains("://") == true
      if isURL {
        section.note(
          ["snapshots"], "expected a folder or \"s3://bucket/prefix\", of letters, digits, '-', '_' and '.' alone")
      }
      section.section("s3") { table in
        if !isURL { table.note([], "belongs to snapshots in an object store, as in \"s3://bucket/prefix\"") }
      }
      guard let place else { return nil }
      self = .folder(place)
      return
    }
    var bucket: ObjectBucket?
    section.section("s3") { bucket = ObjectBucket(name: name, prefix: prefix, $0) }
    if !section.names.contains("s3") {
      section.note(["s3"], "needed with s3://…: { region = … } for Amazon, { endpoint = … } for others")
    }
    guard let bucket else { return nil }
    self = .bucket(bucket)
  }

  /// The longest prefix in bytes: an object's name has at most 1,024.
  private static let longestPrefix = 512

  /// Bucket and prefix of `s3://bucket/prefix`; nil if the text is no such URL.
  private static func bucket(in text: String) -> (name: String, prefix: String)? {
    let scheme = "s3://"
    guard text.hasPrefix(scheme) else { return nil }
    var parts = text.dropFirst(scheme.count).split(separator: "/", omittingEmptySubsequences: false)
    if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
    guard let name = parts.first, (3...255).contains(name.utf8.count), parts.allSatisfy(isPlain) else { return nil }
    let prefix = parts.dropFirst().joined(separator: "/")
    return prefix.utf8.count <= longestPrefix ? (String(name), prefix) : nil
  }

  /// Whether a part of an object's path needs no escapes, in the URL and in the signed text.
  static func isPlain(_ part: Substring) -> Bool {
    !part.isEmpty && part != "." && part != ".." && part.utf8.allSatisfy(isPlain)
  }

  private static func isPlain(_ byte: UInt8) -> Bool { byte.isLetter || byte.isDigit || "-_.".utf8.contains(byte) }

}
