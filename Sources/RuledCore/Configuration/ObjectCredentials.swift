import Glibc

/// The credentials for an object store; printed they show nothing.
package struct ObjectCredentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  package let keyID: String
  package let secret: String
  /// The token that belongs to temporary credentials.
  package let sessionToken: String?

  package let description = "(secret)"
  package var customMirror: Mirror { Mirror(self, children: [:]) }

  private static let names = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"]
  private static let maximumBytes = 64 << 10

  /// Credentials by name; throws an error about a missing or wrong one.
  private init(_ values: [String: String]) throws(RegularFile.Refusal) {
    for name in Self.names.prefix(2) where values[name]?.isEmpty ?? true {
      throw RegularFile.Refusal("has no \(name)")
    }
    for (name, value) in values where !value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
      throw RegularFile.Refusal("has an \(name) that is not printable ASCII without white space")
    }
    keyID = values[Self.names[0]] ?? ""
    secret = values[Self.names[1]] ?? ""
    sessionToken = values[Self.names[2]].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The credentials in a file: lines `name = value` as in AWS's file of credentials, which has one profile here, or in a file of environment
  /// variables.
  package static func read(_ path: String) throws(RegularFile.Refusal) -> ObjectCredentials {
    let text = try RegularFile.read(path, limit: maximumBytes).text
    var values: [String: String] = [:]
    for line in text.split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(trimmed)
      guard parts.count == 2, names.contains(parts[0].lowercased()) else { continue }
      guard values.updateValue(parts[1], forKey: parts[0].lowercased()) == nil else {
        throw RegularFile.Refusal("has \(parts[0]) twice; keep one profile in it")
      }
    }
    return try ObjectCredentials(values)
  }

  /// The credentials in the environment, as in `AWS_ACCESS_KEY_ID`; throws an error about a missing one.
  package static func environment() throws(RegularFile.Refusal) -> ObjectCredentials {
    var values: [String: String] = [:]
    for name in names {
      if let value = getenv(name.uppercased()) { values[name] = trimmed(String(cString: value)[...]) }
    }
    return try ObjectCredentials(values)
  }

  /// A text without the white space and the double quotes around it.
  private static func trimmed(_ text: Substring) -> String {
    String(text.trimming { $0.isWhitespace || $0 == "\"" })
  }
}
