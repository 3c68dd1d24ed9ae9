internal import CUV
internal import Glibc

/// The process at the other end of a Unix socket, as the kernel recorded it at connect(2).
package struct PeerCredentials: Sendable, Equatable {
  package let uid: UInt32
  package let gid: UInt32

  /// The peer of a connected socket by SO_PEERCRED, or nil if the kind of socket has none.
  package init?(of descriptor: Int32) {
    var credentials = ruled_credentials()
    var length = socklen_t(MemoryLayout<ruled_credentials>.size)
    let (_, number) = SystemCalls.retrying {
      getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
    }
    guard number == 0, credentials.uid != UInt32.max else { return nil }
    (uid, gid) = (credentials.uid, credentials.gid)
  }

  /// The supplementary groups of a connected socket's peer by SO_PEERGROUPS; empty if they are unknown.
  package static func groups(of descriptor: Int32) -> [UInt32] {
    var groups = [UInt32](repeating: 0, count: 256)
    var length = socklen_t(groups.count * MemoryLayout<UInt32>.size)
    let (_, number) = SystemCalls.retrying {
      getsockopt(descriptor, SOL_SOCKET, ruled_so_peergroups, &groups, &length)
    }
    guard number == 0 else { return [] }
    return Array(groups.prefix(Int(length) / MemoryLayout<UInt32>.size))
  }
}
