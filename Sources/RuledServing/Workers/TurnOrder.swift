/// The order in which clients take turns: owners take turns, and so do the clients of each, so that one with many connections has no more turns than
/// others.
struct TurnOrder<Client> {
  private var owners: [UInt32] = []
  private var clients: [UInt32: [Client]] = [:]

  var isEmpty: Bool { owners.isEmpty }

  mutating func append(_ client: Client, of owner: UInt32) {
    if clients[owner] == nil { owners.append(owner) }
    clients[owner, default: []].append(client)
  }

  /// Removes the client whose turn it is.
  mutating func removeNext() -> Client? {
    guard !owners.isEmpty else { return nil }
    let owner = owners.removeFirst()
    let client = clients[owner]?.removeFirst()
    if clients[owner]?.isEmpty == true { clients[owner] = nil } else { owners.append(owner) }
    return client
  }
}
