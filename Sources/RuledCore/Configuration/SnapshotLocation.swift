/// Where the snapshots of a cluster are kept.
package enum SnapshotLocation: Sendable, Equatable {
  /// A folder that all nodes share.
  case folder(String)
  /// A bucket of an object store that all nodes reach.
  case bucket(ObjectBucket)
}

/// A bucket of an object store that speaks the protocol of S3, and the place of the snapshots in it.
package struct ObjectBucket: Sendable, Equatable {
  package var name: String
  /// What the names of the objects begin with, without a slash at its ends; empty for nothing.
  package var prefix: String
  /// The URL of the store, without a slash at its end.
  package var endpoint: String
  /// The region that requests are signed for.
  package var region: String
  /// The file of the credentials; nil if the environment has them.
  package var credentialsFile: String?
  /// The PEM file with the authorities that the store's certificate is checked against; nil for the system's.
  package var authority: String?

  /// A bucket that is reached at the URL `endpoint`.
  package init(
    name: String, prefix: String, endpoint: String, region: String, credentialsFile: String? = nil,
    authority: String? = nil
  ) {
    self.name = name
    self.prefix = prefix
    self.endpoint = endpoint
    self.region = region
    self.credentialsFile = credentialsFile
    self.authority = authority
  }

  /// The bucket and the prefix as they are configured.
  package var url: String { "s3://\(name)\(prefix.isEmpty ? "" : "/\(prefix)")" }

  /// The endpoint of Amazon's store in a region.
  package static func amazon(_ region: String) -> String { "https://s3.\(region).amazonaws.com" }

  /// The region of a store of others that knows none.
  package static let defaultRegion = "us-east-1"
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

  /// Whether a part of an object's path needs no escapes, in the URL and in what is signed.
  fileprivate static func isPlain(_ part: Substring) -> Bool {
    !part.isEmpty && part != "." && part != ".." && part.utf8.allSatisfy(isPlain)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
      true
    default: false
    }
  }

}

extension ObjectBucket {
  /// A bucket with the keys of the section `s3`.
  fileprivate init(name: String, prefix: String, _ section: ConfigurationSection) {
    let region = section.text("region", expected: "a region such as \"eu-central-1\"", Self.region)
    let endpoint = section.text(
      "endpoint", expected: "the URL of the store, such as \"https://minio.example:9000\"", Self.endpoint)
    self.init(
      name: name, prefix: prefix, endpoint: endpoint ?? Self.amazon(region ?? Self.defaultRegion),
      region: region ?? Self.defaultRegion, credentialsFile: section.path("credentials_file"),
      authority: section.path("authority"))
    if !section.names.contains("region"), !section.names.contains("endpoint") {
      section.note(["region"], "needed without endpoint: the region of the bucket at Amazon")
    }
    if authority != nil, !self.endpoint.lowercased().hasPrefix("https:") {
      section.note(["authority"], "belongs to an endpoint with https")
    }
    section.finish()
  }

  /// The endpoint that a text states, without a slash at its end; nil if it is no `http` or `https` URL of a store.
  private static func endpoint(_ text: String) -> String? {
    guard let url = try? URLText.parse(text), ["http", "https"].contains(url.scheme), url.userInfo == nil,
      !text.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
    else { return nil }
    let parts = url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    guard
      parts.isEmpty
        || parts.dropLast().allSatisfy(SnapshotLocation.isPlain)
          && parts.suffix(1).allSatisfy({ $0.isEmpty || SnapshotLocation.isPlain($0) })
    else { return nil }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  /// The region that a text states; nil if no region is called like that.
  private static func region(_ text: String) -> String? { SnapshotLocation.isPlain(text[...]) ? text : nil }
}
