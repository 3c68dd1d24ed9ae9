import CMicroHTTPD
import RuledCore
import RuledWire

/// A request's first line has come.
func httpBegan(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let context, let connection else { return nil }
  let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
  let exchange = HTTPExchange(
    server.nextToken(), target: HTTPTarget(target.map { String(cString: $0) } ?? "/"), connection: connection)
  return Unmanaged.passRetained(exchange).toOpaque()
}

/// A request's header fields, part of its body or its end has come, or its answer is there.
func httpServe(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
  _ uploadSize: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let connection, let uploadSize, let held = request?.pointee else { return .NO }
  let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
  let exchange = Unmanaged<HTTPExchange>.fromOpaque(held).takeUnretainedValue()
  switch exchange.phase {
  case .fresh:
    exchange.phase = .receiving
    exchange.method = method.map { String(cString: $0) } ?? ""
    exchange.needsHost = version.map { String(cString: $0) } == "HTTP/1.1"
    withUnsafeMutablePointer(to: &exchange.headers) {
      ruled_http_headers(connection, httpTakeField, $0)
    }
    guard let error = server.refusalBeforeBody(exchange) else { return .YES }
    return server.respond(HTTPResponse(error), to: exchange, on: connection)
  case .receiving:
    if uploadSize.pointee > 0 {
      exchange.take(
        UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee),
        limit: server.services.context.configuration.limits.requestBytes)
      uploadSize.pointee = 0
      return .YES
    }
    guard let peer = ruled_http_context(connection) else { return .NO }
    server.began(exchange)
    return server.serve(exchange, on: connection, peer: Unmanaged<HTTPPeer>.fromOpaque(peer).takeUnretainedValue())
  case .waiting:
    guard let response = exchange.responseOrSuspend() else { return .YES }
    return server.respond(response, to: exchange, on: connection)
  case .answered:
    return .YES
  }
}

private func httpTakeField(
  _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameSize: Int,
  _ value: UnsafePointer<CChar>?, _ valueSize: Int
) -> MHD_Result {
  guard let headers = context?.assumingMemoryBound(to: HTTPHeaders.self) else { return .NO }
  headers.pointee.append(
    String(decoding: UnsafeRawBufferPointer(start: name, count: nameSize), as: UTF8.self),
    String(decoding: UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueSize), as: UTF8.self))
  return .YES
}

/// A request is over.
func httpCompleted(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let context, let held = request?.pointee else { return }
  request?.pointee = nil
  let exchange = Unmanaged<HTTPExchange>.fromOpaque(held).takeRetainedValue()
  Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue().completed(exchange)
}

/// A connection has begun or is over.
func httpConnectionChanged(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ held: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ change: MHD_ConnectionNotificationCode
) {
  guard let context, let connection, let held else { return }
  let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
  if ruled_http_begins(change) != 0 {
    let peer = HTTPPeer(ruled_http_descriptor(connection), admins: server.services.admins)
    held.pointee = Unmanaged.passRetained(peer).toOpaque()
  } else {
    if let peer = held.pointee { Unmanaged<HTTPPeer>.fromOpaque(peer).release() }
    held.pointee = nil
    server.disconnected()
  }
}

/// Takes what an event stream has.
func httpReadStream(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ space: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
  guard let context else { return ruled_http_end }
  let stream = Unmanaged<EventStream>.fromOpaque(context).takeUnretainedValue()
  return stream.read(into: UnsafeMutableRawBufferPointer(start: space, count: size))
}

/// Lets go of an event stream.
func httpReleaseStream(_ context: UnsafeMutableRawPointer?) {
  if let context { Unmanaged<EventStream>.fromOpaque(context).release() }
}
