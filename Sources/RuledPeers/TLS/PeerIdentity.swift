internal import CTLS

/// A node's certificate and key, and the authority that it trusts.
package final class PeerIdentity: @unchecked Sendable {  // the context does not change after `init`
  let raw: OpaquePointer

  /// Reads PEM files: the node's certificate with its chain, its key, and the certificates of the authority.
  ///
  /// - Throws: `.identity`, naming the file.
  package convenience init(certificate: String, key: String, authority: String) throws(PeerError) {
    try self.init(certificate, key, authority)
  }

  private init(_ certificate: String?, _ key: String?, _ authority: String?) throws(PeerError) {
    var why = [CChar](repeating: 0, count: 512)
    guard let raw = ct_read_identity(certificate, key, authority, &why, why.count) else {
      throw .identity(String(decoding: why.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    self.raw = raw
  }

  /// Why a certificate with its key in one file, or the certificates of an authority, can't be used; nil if they can.
  package static func problem(certificate: String? = nil, authority: String? = nil) -> String? {
    do throws(PeerError) { _ = try PeerIdentity(certificate, certificate, authority) } catch .identity(let why) {
      return why
    } catch { return "\(error)" }
    return nil
  }

  deinit { ct_release_identity(raw) }

  /// When the node's own certificate expires, in seconds since 1970.
  package var expiry: Int64 { ct_expiry(raw) }

  /// Whether this is one of the alternative names in the node's own certificate.
  package func isFor(_ name: String) -> Bool { ct_is_for(raw, name, name.utf8.count) }
}
