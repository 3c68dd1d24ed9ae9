struct ReplyTarget: Sendable {
  /// The sender of replies to the client.
  enum Receiver: Sendable, Hashable {
    case worker(Int)
    case http
  }

  /// A connection among those of all workers, or an HTTP exchange.
  struct Client: Hashable, Sendable {
    let receiver: Receiver
    let connection: UInt64
  }

  /// The connection's token, or the token of the HTTP exchange.
  let connection: UInt64
  /// The request batch that the request is part of, 0 for none.
  let batch: UInt64
  /// Its slot in the request batch.
  let slot: Int
  let receiver: Receiver
  let isAdmin: Bool
  /// Whether an explanation may have the values that rules read, as the client may call `state`.
  let mayReadStates: Bool
  /// A number that stands for the owner of the connection, as owners take turns, however many connections each has.
  let owner: UInt32

  var client: Client { Client(receiver: receiver, connection: connection) }

  init(
    _ receiver: Receiver, connection: UInt64, batch: UInt64 = 0, slot: Int = 0, isAdmin: Bool,
    mayReadStates: Bool? = nil, owner: UInt32 = 0
  ) {
    self.receiver = receiver
    self.connection = connection
    self.batch = batch
    self.slot = slot
    self.isAdmin = isAdmin
    self.mayReadStates = mayReadStates ?? isAdmin
    self.owner = owner
  }
}
