import RuledCore
import RuledIO
import RuledWire

/// One client that speaks HTTP; confined to the server's thread.
///
/// Requests are answered one after the other: the next one is read once the response to the one before is sent. A malformed request is the
/// last one, because the beginning of the next one is unknown.
final class HTTPConnection {
  private enum Phase {
    /// A request is being read, or none has begun.
    case reading
    /// A request is complete and waits for its response.
    case answering
    /// Events are sent as they come.
    case streaming
    /// The last response is being sent.
    case ending
    /// All is sent; further bytes of the client are dropped, so that it can read the response before the socket is closed.
    case lingering
    case closed
  }

  let number: UInt64
  private(set) var peer: ClientAccess
  /// Its permit among all connections; nil for one beyond the limit, where only a probe is answered.
  let permit: ConnectionPermit?
  private let descriptor: Int32
  private unowned let table: HTTPConnectionTable
  private var poll: DescriptorPoll?
  private var phase = Phase.reading
  private let reader: HTTPRequestReader
  private var input: ByteBuffer?
  private var inputOffset = 0
  private var isParsing = false
  /// Whether the next bytes are the first ones, which a proxy begins with a line of its own.
  private var awaitsProxyLine: Bool
  private var output = ByteBuffer(capacity: 16)
  private var sentCount = 0
  private var outputMemory: OutputMemory
  private var exchange: HTTPExchange?
  /// The answer to a client that watches; nil while it does not.
  private var stream: EventStream?
  private var options = HTTPResponse.Options()
  /// Whether the server counts a request of the connection as active.
  private var hasActiveRequest = false
  /// The connection's bytes in the server's count.
  private var usedBytes = 0
  /// When bytes last moved, and when the current request began, in the loop's milliseconds.
  private var lastProgress: UInt64
  private var requestStart: UInt64

  /// A client on a connected socket, which the connection owns unless this throws.
  init(
    _ descriptor: Int32, from peer: ClientAccess, with permit: ConnectionPermit?, number: UInt64,
    in table: HTTPConnectionTable
  ) throws(SystemError) {
    self.descriptor = descriptor
    self.permit = permit
    self.number = number
    self.table = table
    outputMemory = OutputMemory(table.server.services.outputMemory)
    self.peer = peer
    awaitsProxyLine = !peer.isAnonymous
    reader = HTTPRequestReader(bodyLimit: table.server.services.context.configuration.limits.requestBytes)
    lastProgress = table.loop.now
    requestStart = lastProgress
    poll = try DescriptorPoll(on: table.loop, descriptor) { [unowned self] events in handle(events) }
    poll?.wait(for: .readable)
  }

  var unsentCount: Int { output.count - sentCount }

  private func handle(_ events: DescriptorPoll.Events) {
    if events.contains(.failed) { return close() }
    if events.contains(.readable) { receive() }
    if events.contains(.writable), phase != .closed {
      flush()
      advance()
      if phase == .streaming, unsentCount == 0 { table.watches.read() }
    }
  }

  /// Does the next step of the phase, after bytes moved or a response came.
  private func advance() {
    switch phase {
    case .reading: parseInput()
    case .streaming: sendEvents()
    case .ending: if unsentCount == 0 { linger() }
    case .answering, .lingering, .closed: break
    }
    update()
  }

  /// Waits for the events that the phase needs, and has the server count the connection's memory.
  private func update() {
    guard phase != .closed else { return }
    var events: DescriptorPoll.Events = []
    if unsentCount > 0 { events.insert(.writable) }
    if phase == .lingering || phase == .reading && unsentCount == 0 { events.insert(.readable) }
    poll?.wait(for: events)
    use(reader.usedBytes + (exchange?.body.capacity ?? 0) + (input?.capacity ?? 0) + output.capacity)
  }

  private func use(_ bytes: Int) {
    table.server.use(bytes - usedBytes)
    usedBytes = bytes
  }

  /// Closes the connection for another one, which got its permit, unless a request is under way.
  func evict() {
    if phase == .answering || phase == .reading && unsentCount > 0 { permit?.restore() } else { close() }
  }

  func close() {
    guard phase != .closed else { return }
    phase = .closed
    closeStream()
    poll?.close()
    poll = nil
    SystemCalls.close(descriptor)
    use(0)
    _ = outputMemory.cover(0)
    exchange?.abandon()
    exchange = nil
    endRequest()
    table.remove(self)
  }

  // MARK: Reading

  private func receive() {
    guard phase == .reading || phase == .lingering else { return }
    table.received.removeAll()
    let outcome = table.received.append(upTo: 16 << 10) { SystemCalls.receive(descriptor, into: &$0) }
    switch (phase, outcome) {
    case (.reading, .moved(let count)):
      lastProgress = table.loop.now
      permit?.noteSpoken()
      if !reader.isWithinRequest { requestStart = lastProgress }
      let input = input ?? ByteBuffer(capacity: count)
      input.append(table.received)
      self.input = input
      if speaksLines { turnAway() } else { advance() }
    case (.reading, .ended) where reader.isWithinRequest:
      refuse(HTTPError(400, "the request ended before it was complete"))
    case (_, .ended), (_, .failed): close()
    case (_, .moved), (_, .wouldBlock): break
    }
  }

  /// Reads requests from the input until one has to wait for its response.
  private func parseInput() {
    guard !isParsing else { return }
    isParsing = true
    defer { isParsing = false }
    guard skipProxyLine() else { return }
    while phase == .reading, unsentCount == 0, let input, inputOffset < input.count {
      do throws(HTTPError) { try readRequest(from: input) } catch { refuse(error) }
    }
    if phase == .reading, let input, inputOffset == input.count {
      self.input = nil
      inputOffset = 0
    }
  }

  /// Skips the line with which a proxy begins a connection over the Unix socket, by version 1 of the PROXY protocol.
  ///
  /// From then on the connection has the proxy's credentials, not those of the client that sends the requests. Returns false while the line is
  /// incomplete.
  private func skipProxyLine() -> Bool {
    guard awaitsProxyLine, let input else { return true }
    let start = Array("PROXY ".utf8)
    let bytes = input.bytes
    let isProxy = zip(bytes, start).allSatisfy { $0 == $1 }
    let end = isProxy && bytes.count >= start.count ? bytes.firstIndex(of: UInt8(ascii: "\n")) : nil
    if isProxy, end == nil, bytes.count < Self.proxyLineBytes { return false }
    awaitsProxyLine = false
    if isProxy, let end, end < Self.proxyLineBytes {
      peer = peer.behindProxy
      inputOffset = end + 1
    }
    return true
  }

  /// The longest line of the PROXY protocol in bytes.
  private static let proxyLineBytes = 107

  private func readRequest(from input: ByteBuffer) throws(HTTPError) {
    var step = try reader.read(input.bytes, from: &inputOffset)
    if step == .head {
      if reader.head.expectsContinue, inputOffset == input.count { try sendContinue() }
      step = try reader.read(input.bytes, from: &inputOffset)
    }
    if step == .complete { return beginExchange() }
    update()
    guard reader.usedBytes <= HTTPServer.smallRequest || table.server.hasRoom else { throw HTTPServer.noRoom }
  }

  /// Tells a client that waits with its body to send it, unless the head is refused.
  private func sendContinue() throws(HTTPError) {
    try table.router.checkHead(HTTPExchange(0, reader, connection: number, peer: peer))
    output.append("HTTP/1.1 100 Continue\r\n\r\n" as StaticString)
    flush()
  }

  private func beginExchange() {
    let exchange = HTTPExchange(
      table.server.nextToken(), reader, connection: number, peer: peer, owner: permit?.ownerNumber ?? 0)
    reader.reset()
    requestStart = table.loop.now
    self.exchange = exchange
    phase = .answering
    hasActiveRequest = true
    table.server.beginRequest()
    options = HTTPResponse.Options(
      omitsBody: exchange.method == "HEAD", isHTTP10: exchange.head.minorVersion == 0,
      closesConnection: !exchange.head.keepsAlive || permit == nil)
    permit?.note(isBusy: true, now: requestStart)
    if permit == nil, HTTPRoute(exchange.target)?.endpoint.isForProbes != true {
      noteRefusal()
      return respond(HTTPResponse(Refusals.tooManyConnections))
    }
    table.router.route(exchange, on: self)
  }

  /// Answers a malformed request and ends the connection.
  private func refuse(_ error: HTTPError) {
    reader.reset()
    input = nil
    inputOffset = 0
    options = HTTPResponse.Options()
    phase = .answering
    respond(HTTPResponse(error))
  }

  // MARK: Beyond the limit of connections

  /// Tells a client for which there is no permit to come back later.
  func turnAway() {
    guard phase == .reading else { return }
    noteRefusal()
    if peer.isAnonymous || input != nil && !speaksLines || reader.isWithinRequest {
      return refuse(HTTPError(Refusals.tooManyConnections))
    }
    ReplyWriter.error(Refusals.tooManyConnections, id: nil, to: output)
    ReplyWriter.endLine(to: output)
    phase = .ending
    flush()
    advance()
  }

  private func noteRefusal() { table.server.services.noteRefusal(among: table.server.services.permits) }

  /// Whether the client has no permit and speaks JSON-RPC lines.
  private var speaksLines: Bool {
    guard permit == nil, !peer.isAnonymous, !reader.isWithinRequest, let input else { return false }
    return Connection.beginsLines(input.bytes[0])
  }

  // MARK: Answering

  func respond(_ response: HTTPResponse) {
    guard phase == .answering else { return }
    if table.server.isDraining { options.closesConnection = true }
    if let code = response.error { table.server.services.noteError(code) }
    response.write(options, to: output)
    exchange = nil
    phase = options.closesConnection ? .ending : .reading
    flush()
    advance()
  }

  /// Answers the request with that token, if it still waits.
  func respond(_ response: HTTPResponse, to token: UInt64) {
    if exchange?.token == token { respond(response) }
  }

  private func flush() {
    guard unsentCount > 0, phase != .closed else { return }
    defer { coverOutput() }
    if sentCount == 0 { lastProgress = table.loop.now }
    switch SystemCalls.send(descriptor, output.bytes.extracting(sentCount...)) {
    case .moved(let count):
      sentCount += count
      lastProgress = table.loop.now
      guard unsentCount == 0 else { return }
      output = ByteBuffer(capacity: 16)
      sentCount = 0
      if phase == .reading || phase == .ending {
        endRequest()
        permit?.note(isBusy: false, now: lastProgress)
      }
    case .wouldBlock: break
    case .ended, .failed: close()
    }
  }

  private func coverOutput() {
    guard phase != .closed, !outputMemory.cover(unsentCount) else { return }
    table.server.services.refusals.noteUnread(unsentCount)
    close()
  }

  private func endRequest() {
    guard hasActiveRequest else { return }
    hasActiveRequest = false
    table.server.endRequest()
  }

  private func linger() {
    phase = .lingering
    endRequest()
    input = nil
    lastProgress = table.loop.now
    SystemCalls.endWriting(descriptor)
  }

  // MARK: Streaming

  /// Answers the current request with events as they come, while the client may watch.
  func beginStream(_ params: WatchParams, while isAllowed: @escaping () -> Bool) throws(RequestError) {
    let stream = EventStream(on: self, isChunked: !options.isHTTP10, while: isAllowed)
    _ = try table.watches.begin(params, connection: number, stream)
    self.stream = stream
    permit?.note(hasWatch: true)
    permit?.note(isBusy: false, now: table.loop.now)
    exchange = nil
    phase = .streaming
    options.closesConnection = true
    stream.writeHead(options, to: output)
    if table.server.isDraining { endStream() } else { advance() }
  }

  /// Sends the events of the stream, as far as the socket takes them.
  func sendEvents() {
    while phase == .streaming, unsentCount == 0, stream?.writeChunk(to: output) == true { flush() }
    update()
  }

  func sendHeartbeat() {
    stream?.addHeartbeat()
    sendEvents()
  }

  func endStream() {
    guard phase == .streaming, let stream else { return }
    closeStream()
    stream.writeEnd(to: output)
    phase = .ending
    flush()
    advance()
  }

  private func closeStream() {
    if stream != nil { table.watches.endAll(connection: number) }
    stream = nil
  }

  /// Ends the stream if its client may watch no longer.
  func checkStream() { if stream?.isAllowed() == false { endStream() } }

  /// Ends the request or the connection if a timeout has passed at `now`, in the loop's milliseconds.
  func checkTimeouts(_ now: UInt64) {
    let isStuck = now >= lastProgress + HTTPServer.progressTimeout
    switch phase {
    case .reading where permit == nil: if now >= requestStart + HTTPServer.probeTimeout { turnAway() }
    case .reading where unsentCount == 0 && reader.isWithinRequest:
      guard isStuck || now >= requestStart + HTTPServer.requestTimeout else { return }
      refuse(HTTPError(408, "the request took too long to arrive"))
    case .reading, .ending: if isStuck { close() }
    case .streaming: if isStuck, unsentCount > 0 { close() }
    case .lingering: if now >= lastProgress + HTTPServer.lingerTimeout { close() }
    case .answering, .closed: break
    }
  }
}
