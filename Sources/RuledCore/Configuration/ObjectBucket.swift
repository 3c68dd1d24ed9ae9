/// A bucket of an object store that speaks the protocol of S3, and the place of the snapshots in it.
package struct ObjectBucket: Sendable, Equatable {
  package var name: String
  /// The prefix of the objects' names, without a slash at its ends; empty for none.
  package var prefix: String
  /// The URL of the store, without a slash at its end.
  package var endpoint: String
  /// The region that requests are signed for.
  package var region: String
  /// The file of the credentials; nil if the environment has them.
  package var credentialsFile: String?
  /// The PEM file with the authorities that the store's certificate is checked against; nil for the system's.
  package var authority: String?

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

  static func amazon(_ region: String) -> String { "https://s3.\(region).amazonaws.com" }

  /// The region for other stores, which know none.
  static let defaultRegion = "us-east-1"
}

extension ObjectBucket {
  /// A bucket with the keys of the section `s3`.
  init(name: String, prefix: String, _ section: ConfigurationSection) {
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
    guard let url = WebURL(text), !url.hasUser, !text.utf8.contains(where: "?#".utf8.contains) else { return nil }
    let parts = url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    guard
      parts.isEmpty
        || parts.dropLast().allSatisfy(SnapshotLocation.isPlain)
          && parts.suffix(1).allSatisfy({ $0.isEmpty || SnapshotLocation.isPlain($0) })
    else { return nil }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  private static func region(_ text: String) -> String? { SnapshotLocation.isPlain(text[...]) ? text : nil }
}
