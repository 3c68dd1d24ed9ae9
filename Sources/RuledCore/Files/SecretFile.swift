package enum SecretFile {
  private static let maximumTokenBytes = 64 << 10
  private static let maximumSecretBytes = 16 << 10

  /// The token in the first line of a file, without the white space around it.
  package static func token(_ path: String) throws(RegularFile.Refusal) -> String {
    let bytes = ByteOrderMark.without(try RegularFile.read(path, limit: maximumTokenBytes))
    let token = bytes.prefix { $0 != UInt8(ascii: "\n") }.trimming(isSpace)
    guard !token.isEmpty else { throw RegularFile.Refusal("holds no token; write one line into it") }
    return try printable(token, "token")
  }

  /// A token of fewer bytes is weak.
  private static let strongTokenBytes = 32

  /// The weaknesses of the token in a file, which is accepted nevertheless; each without its subject, the file's name.
  package static func weaknesses(ofToken path: String) -> [String] {
    var weaknesses: [String] = []
    if let text = try? token(path), text.utf8.count < strongTokenBytes {
      weaknesses.append("holds a token that is easily guessed; replace it by the output of 'openssl rand -hex 32'")
    }
    if RegularFile.isReadableByAll(path) {
      weaknesses.append("can be read by every user of this host; take that away with 'chmod o= \(path)'")
    }
    return weaknesses
  }

  /// The secret that a file holds, without the white space around it.
  package static func secret(_ path: String) throws(RegularFile.Refusal) -> String {
    let bytes = try RegularFile.read(path, limit: maximumSecretBytes).trimming(isSpace)
    guard !bytes.isEmpty else { throw RegularFile.Refusal("holds no secret") }
    return try printable(bytes, "secret")
  }

  private static func printable(_ bytes: ArraySlice<UInt8>, _ what: String) throws(RegularFile.Refusal) -> String {
    guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw RegularFile.Refusal("holds no usable \(what), which is printable ASCII without white space")
    }
    return bytes.text
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
