import Synchronization

/// The last clients to whose connections nothing can be written any more, for workers that have requests of theirs and not their connections.
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
