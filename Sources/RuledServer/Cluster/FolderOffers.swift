import RuledCore
import RuledEngine
import RuledJSON
import RuledWire

/// Who waits for the rules in a follower's folder to be offered to the owner.
///
/// One load at a time serves all that had asked before it began, so that it includes what they wrote to the folder.
struct FolderOffers {
  /// A client's request; its id is nil if it wants no reply.
  struct Caller {
    let connection: ConnectionToken
    let id: [UInt8]?
  }

  private var waiting: [Caller] = []
  private var served: [Caller] = []

  /// Nobody waits.
  init() {}

  /// Adds a caller.
  mutating func add(_ caller: Caller) { waiting.append(caller) }

  /// Begins a load for all that wait; returns false if there is nobody, or a load is under way.
  mutating func begin() -> Bool {
    guard served.isEmpty, !waiting.isEmpty else { return false }
    swap(&waiting, &served)
    return true
  }

  /// Ends the load; returns whom it serves.
  mutating func end() -> [Caller] {
    defer { served = [] }
    return served
  }
}

/// Reloads that clients of a follower ask for: the rules in its folder are offered, and the owner takes them.
extension StandbyServer {
  /// Whether a request is to put the rules in this node's folder in force: a `reload` that names no offer.
  func isForThisFolder(_ request: RequestView) -> Bool {
    guard request.method == .reload, let route, route.hasLink, let params = try? ReloadParams(request) else {
      return false
    }
    return params.offered == nil
  }

  /// Offers the rules in this node's folder, and then has the owner take them, which replies.
  func offerFolder(for request: RequestView, _ connection: Connection) {
    connection.beginRequest()
    offers.add(FolderOffers.Caller(connection: connection.token, id: request.id.map { Array($0) }))
    beginOffer()
  }

  private func beginOffer() {
    guard offers.begin() else { return }
    let offered = offered
    membership.offerFolder(of: configuration) { _ = offered.send($0) }
  }

  /// Has the owner take the revision that was offered, for all that wait for it, or tells them why there is none.
  func finishOffer(_ result: Result<String, RequestError>) {
    for caller in offers.end() {
      guard let connection = table[caller.connection] else { continue }
      switch result {
      case .failure(let error): sendLate(.failure(error), caller.id, connection)
      case .success(let revision):
        if let client = client(connection) {
          reload(offered: revision, caller.id, of: client)
        } else {
          sendLate(.failure(refusal), caller.id, connection)
        }
      }
      connection.endRequest()
    }
    beginOffer()
  }

  /// Sends the owner a client's `reload` of the rules that this node has offered.
  private func reload(offered revision: String, _ id: [UInt8]?, of client: ForwardedLines) {
    let line = ByteBuffer(capacity: 1024)
    var writer = JSONWriter(line)
    writer.beginObject()
    writer.member("jsonrpc", plain: "2.0")
    if let id {
      writer.member("id")
      id.withView { writer.raw($0) }
    }
    writer.member("method", plain: "reload")
    writer.member("params")
    writer.beginObject()
    writer.member("offered", revision)
    writer.endObject()
    writer.endObject()
    client.forward(line.bytes, parser.parse(line.bytes), about: nil)
  }
}
