import Glibc
package import RuledCore
import RuledEngine
package import RuledIO

/// The users who may call every method: root, the daemon's own user, and the users and groups that the configuration names.
package struct Administrators: Sendable {
  package static let refusal = RequestError(
    .forbidden, "only root, the daemon's own user and the configured admins may call this method")

  private let users: Set<UInt32>
  private let groups: Set<UInt32>
  /// The configured names that this host does not know.
  let unknown: [String]

  /// Resolves names and numbers; groups begin with `@`.
  package init(_ names: [String]) {
    var users: Set<UInt32> = [0, getuid()]
    var groups: Set<UInt32> = []
    for name in names {
      if name.hasPrefix("@") {
        HostAccounts.group(String(name.dropFirst())).map { _ = groups.insert($0) }
      } else {
        HostAccounts.user(name).map { _ = users.insert($0) }
      }
    }
    self.users = users
    self.groups = groups
    unknown = HostAccounts.unknown(names)
  }

  /// Whether the client of a connection is one of them.
  package func include(_ connection: Connection) -> Bool {
    guard let peer = connection.peer else { return false }
    return include(peer, groups: connection.peerGroups)
  }

  /// Whether the client at the other end of a Unix socket is one of them.
  package func include(peerOf descriptor: Int32) -> Bool {
    PeerCredentials(of: descriptor).map { include($0, groups: PeerCredentials.groups(of: descriptor)) } ?? false
  }

  /// Whether a client with these credentials and supplementary groups is one of them.
  func include(_ peer: PeerCredentials, groups supplementary: @autoclosure () -> [UInt32]) -> Bool {
    if users.contains(peer.uid) || groups.contains(peer.gid) { return true }
    return !groups.isEmpty && supplementary().contains { groups.contains($0) }
  }
}
