package import RuledCore
package import RuledWire

/// Sends requests to receivers with a URL, and decides by the answers about the effects.
///
/// The outbox has one, unless a courier delivers: then the courier has it, in a process of its own.
package final class Deliverer {
  /// Header fields that the deliverer sets itself, in lower case; `authorization` only if the receiver has a secret.
  private static let reservedHeaders: Set<String> = [
    "authorization", "idempotency-key", "host", "content-length", "transfer-encoding", "connection", "expect",
  ]

  private static let maximumFileBytes = 4 << 20

  private let client: HTTPClient
  private let timeout: Int
  private let log: any EventLog

  package init(client: HTTPClient, timeout: Int, log: any EventLog) {
    self.client = client
    self.timeout = timeout
    self.log = log
  }

  package var count: Int { client.count }

  /// Drops the requests under way without calling their completions.
  package func close() { client.close() }

  /// Reads the secret of a receiver, if it has one, and checks that its other files can be read; problems are logged.
  @discardableResult
  package static func readFiles(of receiver: URLReceiver, _ log: any EventLog) -> Bool {
    for path in [receiver.certificate, receiver.authorities] {
      guard let path else { continue }
      do throws(RegularFile.Refusal) { _ = try RegularFile.read(path, limit: maximumFileBytes) } catch {
        log.error("\(path) of the sink '\(receiver.sink)' \(error): its effects wait")
      }
    }
    guard let problem = receiver.secret?.read() else { return true }
    log.error("the secret of the sink '\(receiver.sink)' can't be read, its effects wait: \(problem)")
    return false
  }

  package func send(
    _ asked: HandlerRequest, id: String, to receiver: URLReceiver, completion: @escaping (DeliveryResult) -> Void
  ) {
    var request = HTTPRequest(url: asked.url ?? receiver.url, method: asked.method, body: asked.body)
    guard let origin = URLOrigin(request.url) else {
      return completion(.givenUp(DeliveryFailure(reason: "the URL is neither http nor https")))
    }
    request.headers = asked.headers.filter { header in
      let name = header.name.lowercased()
      return !Self.reservedHeaders.contains(name) || name == "authorization" && receiver.secret == nil
    }
    if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
      request.headers.append(("Content-Type", "application/json"))
    }
    // A header has visible ASCII alone.
    let key = PercentText.encode(id, uppercase: false) { (0x21...0x7E).contains($0) }
    request.headers.append(("Idempotency-Key", key))
    if let secret = receiver.secret {
      guard secret.authorization != nil || Self.readFiles(of: receiver, log) else {
        return completion(
          .failed(
            DeliveryFailure(reason: "the secret in \(secret.path) can't be read"), atLeast: 0, .atOnce))
      }
    }
    let isSecretSent = origin == receiver.origin
    if isSecretSent {
      if let authorization = receiver.secret?.authorization { request.headers.append(("Authorization", authorization)) }
      request.certificate = receiver.certificate
      request.authorities = receiver.authorities
    }
    request.keptBytes = Limits.answerBytes + (receiver.secret?.count ?? 0)
    client.send(request, timeout: timeout) { [weak self] result in
      self?.finish(result, asked, id: id, receiver, isSecretSent: isSecretSent, completion)
    }
  }

  private func finish(
    _ result: HTTPResult, _ asked: HandlerRequest, id: String, _ receiver: URLReceiver, isSecretSent: Bool,
    _ completion: @escaping (DeliveryResult) -> Void
  ) {
    switch result {
    case .answered(200..<300, _, _): completion(.delivered)
    case .answered(let status, let seconds, let body):
      let text = receiver.secret?.removed(from: body) ?? body.text
      let failure = DeliveryFailure(
        reason: "the receiver answered \(status)", status: status, body: text.isEmpty ? nil : text)
      let wait = UInt64(min(max(seconds, 0), 3_600)) * 1_000
      switch status {
      case 401, 403:
        guard isSecretSent, let secret = receiver.secret else { return completion(.givenUp(failure)) }
        refused(failure, secret, asked, id: id, receiver, completion)
      case 429, 503: completion(.failed(failure, atLeast: wait, .atOnce))
      case 408, 425, 500...599: completion(.failed(failure, atLeast: wait, .afterSeveral))
      default: completion(.givenUp(failure))
      }
    case .failed(let reason): completion(.failed(DeliveryFailure(reason: reason), atLeast: 0, .atOnce))
    case .refused(let reason): completion(.givenUp(DeliveryFailure(reason: reason)))
    }
  }

  /// Sends a refused request again, if its secret has changed since.
  private func refused(
    _ failure: DeliveryFailure, _ secret: SinkSecret, _ asked: HandlerRequest, id: String, _ receiver: URLReceiver,
    _ completion: @escaping (DeliveryResult) -> Void
  ) {
    let old = secret.authorization
    if Self.readFiles(of: receiver, log), secret.authorization != old {
      log.info("\(failure.reason), and the secret has changed: the effect is sent again")
      return send(asked, id: id, to: receiver, completion: completion)
    }
    var failure = failure
    failure.reason += ": effects wait until the secret in \(secret.path) is accepted"
    completion(.failed(failure, atLeast: 0, .atOnce))
  }
}
