import RuledLua

/// A secret that is read from a file and leaves in a request's header alone; printed it shows nothing.
final class SinkSecret: CustomStringConvertible, CustomReflectable {
  private static let longest = 16 << 10

  /// Where it stands.
  let path: String
  private var text: String?

  /// The secret in that file, not read yet.
  init(path: String) { self.path = path }

  let description = "(secret)"
  var customMirror: Mirror { Mirror(self, children: [:]) }

  /// The value of the `Authorization` header, nil when the file could not be read.
  var authorization: String? { text.map { "Bearer \($0)" } }

  /// Reads the file; nil when all is well, else what is wrong with it.
  ///
  /// What can't be read leaves no older secret behind.
  func read() -> String? {
    text = nil
    var bytes: ArraySlice<UInt8>
    do throws(RegularFile.Refusal) { bytes = try RegularFile.read(path, limit: Self.longest)[...] } catch {
      return "\(path): \(error)"
    }
    while let last = bytes.last, Self.isSpace(last) { bytes.removeLast() }
    while let first = bytes.first, Self.isSpace(first) { bytes.removeFirst() }
    guard !bytes.isEmpty else { return "\(path): holds no secret" }
    guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return "\(path): a secret is printable ASCII without white space"
    }
    text = String(decoding: bytes, as: UTF8.self)
    return nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
