internal import CTLS

/// A node's certificate and key, and the authority that it trusts.
package final class PeerIdentity: @unchecked Sendable {  // the context does not change after `init`
  let raw: OpaquePointer

  /// Reads PEM files: the node's certificate with its chain, its key, and the certificates of the authority.
  ///
  /// - Throws: `.identity`, naming the file.
  package init(certificate: String, key: String, authority: String) throws(PeerError) {
    var why = [CChar](repeating: 0, count: 512)
    guard let raw = ct_read_identity(certificate, key, authority, &why, why.count) else {
      throw .identity(why.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }.text)
    }
    self.raw = raw
  }

  deinit { ct_release_identity(raw) }

  /// When the node's own certificate expires, in seconds since 1970.
  package var expiry: Int64 { ct_expiry(raw) }

  /// Whether this is one of the alternative names in the node's own certificate.
  package func isFor(_ name: String) -> Bool { ct_is_for(raw, name, name.utf8.count) }
}
