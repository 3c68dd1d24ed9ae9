package import RuledCore

/// What a part of a key may be given as: text, bytes in an array, or bytes where they lie.
package protocol KeyPart {
  /// How many bytes the part has.
  var partCount: Int { get }

  /// Appends the bytes of the part.
  func appendPart(to buffer: ByteBuffer)
}

extension String: KeyPart {
  /// How many bytes the text has as UTF-8.
  package var partCount: Int { utf8.count }

  /// Appends the text as UTF-8.
  package func appendPart(to buffer: ByteBuffer) { buffer.append(contentsOf: self) }
}

extension UnsafeRawBufferPointer: KeyPart {
  /// How many bytes there are.
  package var partCount: Int { count }

  /// Appends the bytes.
  package func appendPart(to buffer: ByteBuffer) { buffer.append(self) }
}

extension [UInt8]: KeyPart {
  /// How many bytes there are.
  package var partCount: Int { count }

  /// Appends the bytes.
  package func appendPart(to buffer: ByteBuffer) { withUnsafeBytes { buffer.append($0) } }
}
