import Synchronization

/// The clients that have gone lately: nothing can be written to their connections.
///
/// A worker asks it about requests that another worker has forwarded, as it does not have their connection.
final class GoneClients: Sendable {
  private static let most = 1 << 16

  private let clients = Mutex<Set<ReplyTarget.Client>>([])

  func insert(_ client: ReplyTarget.Client) {
    clients.withLock { clients in
      if clients.count >= Self.most { clients.removeAll() }
      clients.insert(client)
    }
  }

  func contains(_ client: ReplyTarget.Client) -> Bool { clients.withLock { $0.contains(client) } }
}
