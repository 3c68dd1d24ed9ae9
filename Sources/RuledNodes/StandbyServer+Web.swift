import RuledIO
import RuledServing
import RuledWire

extension StandbyServer {
  /// Adopts the connection of a client that speaks HTTP, or answers 429 if there are too many connections.
  func adoptWeb(_ descriptor: Int32, _ client: ClientAccess) {
    guard !isFull(forAdmin: client.isAdmin) else {
      return Self.refuse(descriptor, HTTPResponse(Refusals.tooManyConnections))
    }
    SystemCalls.sendAtOnce(descriptor)
    do throws(SystemError) {
      let web = try ForwardedWeb(descriptor, on: loop) { [unowned self] head in
        answer(head, client)
      } carry: { [unowned self] socket, bytes in
        carry(socket, client, bytes)
      } ended: { [unowned self] web in
        webs[ObjectIdentifier(web)] = nil
      }
      webs[ObjectIdentifier(web)] = web
    } catch { SystemCalls.close(descriptor) }
  }

  /// This node's answer to the first request of a connection; nil if the connection is carried to the owner.
  private func answer(_ head: HTTPRequestHead, _ client: ClientAccess) -> HTTPResponse? {
    let endpoint = client.listener == .sites ? nil : HTTPRoute(head.target)?.endpoint
    if let endpoint, endpoint.methods.contains(head.method) {
      switch endpoint {
      case .alive: return HTTPResponse(["status": "alive"])
      case .ready: return readiness
      case .health: return HTTPResponse(health)
      case .metrics: return metrics(head, client)
      default: break
      }
    }
    return route?.hasLink == true ? nil : HTTPResponse(refusal)
  }

  private var readiness: HTTPResponse {
    if reachesOwner { return HTTPResponse(["status": "standby"]) }
    return HTTPResponse(["status": "standby", "problems": .array(problems.map { .string($0) })], status: 503)
  }

  private func metrics(_ head: HTTPRequestHead, _ client: ClientAccess) -> HTTPResponse {
    if client.listener == .api, sockets.token?.matches(authorization: head.headers["authorization"]) != true {
      return HTTPResponse(.wrongToken)
    }
    if client.listener == .web, !client.isAdmin { return HTTPResponse(.notAllowed) }
    return HTTPResponse(
      200, type: MetricsWriter.contentType,
      ClusterMetrics.text(
        membership, start: start, reachesOwner: route == nil ? nil : reachesOwner,
        configurationIsRefused: configurationError != nil))
  }

  private func carry(_ socket: Int32, _ client: ClientAccess, _ bytes: [UInt8]) {
    guard let route, route.hasLink else { return Self.refuse(socket, HTTPResponse(refusal)) }
    let carried = carried
    carried.count.wrappingAdd(1, ordering: .relaxed)
    route.open(socket, for: client, after: bytes) { outcome in
      carried.count.wrappingSubtract(1, ordering: .relaxed)
      if case .refused(let reason) = outcome { Self.refuse(socket, HTTPResponse(OwnerRoute.unreachable(reason))) }
    }
  }

  private static func refuse(_ socket: Int32, _ response: HTTPResponse) {
    response.sendLast(on: socket)
    SystemCalls.close(socket)
  }
}
