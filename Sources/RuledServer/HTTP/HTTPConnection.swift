import RuledCore
import RuledWire

/// One client that speaks HTTP, confined to the server's loop.
///
/// Its requests are answered one after the other: the next one is read once the answer to the one before is sent. A request that is
/// refused is the last one, since what follows it can't be told apart.
final class HTTPConnection {
  private enum Phase {
    /// A request is read, or nothing has come yet.
    case reading
    /// A request is whole, and its answer is not there yet.
    case answering
    /// Events are sent as they come.
    case streaming
    /// The last answer is being sent.
    case ending
    /// All is sent; what the client still sends is passed over, so that it gets to read the answer.
    case lingering
    /// Over.
    case closed
  }

  /// What it is found by.
  let number: UInt64
  /// Who is at the other end.
  let peer: HTTPPeer
  private let descriptor: Int32
  private unowned let table: HTTPConnectionTable
  private var poll: DescriptorPoll?
  private var phase = Phase.reading
  private let reader: HTTPRequestReader
  private var input: ByteBuffer?
  private var place = 0
  private var isProceeding = false
  private var output = ByteBuffer(capacity: 16)
  private var sent = 0
  private var exchange: HTTPExchange?
  private var stream: EventStream?
  /// How the request at hand is to be answered.
  private var manner = HTTPResponse.Manner()
  /// Whether the server counts a request of it among those under way.
  private var isUnderWay = false
  /// How many bytes the server counts for it.
  private var charged = 0
  /// When bytes last moved, and when the request at hand began, in the loop's milliseconds.
  private var lastProgress: UInt64
  private var began: UInt64 = 0

  /// A client on a connected socket, which the connection owns unless this throws.
  init(_ descriptor: Int32, number: UInt64, in table: HTTPConnectionTable) throws(SystemError) {
    self.descriptor = descriptor
    self.number = number
    self.table = table
    peer = HTTPPeer(descriptor, admins: table.services.admins)
    reader = HTTPRequestReader(bodyLimit: table.services.context.configuration.limits.requestBytes)
    lastProgress = table.loop.now
    poll = try DescriptorPoll(on: table.loop, descriptor) { [unowned self] events in ready(events) }
    poll?.wait(for: .readable)
  }

  private var unsent: Int { output.count - sent }

  private func ready(_ events: DescriptorPoll.Events) {
    if events.contains(.failed) { return close() }
    if events.contains(.readable) { receive() }
    if events.contains(.writable), phase != .closed {
      flush()
      goOn()
    }
  }

  /// Does what the phase asks for, after bytes moved or an answer came.
  private func goOn() {
    switch phase {
    case .reading: proceed()
    case .streaming: pump()
    case .ending: if unsent == 0 { linger() }
    case .answering, .lingering, .closed: break
    }
    settle()
  }

  /// Waits for what is of use now, and has the server count what memory it takes.
  private func settle() {
    guard phase != .closed else { return }
    var events: DescriptorPoll.Events = []
    if unsent > 0 { events.insert(.writable) }
    if phase == .lingering || phase == .reading && unsent == 0 { events.insert(.readable) }
    poll?.wait(for: events)
    charge(reader.heldBytes + (exchange?.body.capacity ?? 0) + (input?.capacity ?? 0) + output.capacity)
  }

  private func charge(_ bytes: Int) {
    table.server.count(heldBytes: bytes - charged)
    charged = bytes
  }

  /// Ends the connection at once.
  func close() {
    guard phase != .closed else { return }
    phase = .closed
    stream?.close()
    stream = nil
    poll?.close()
    poll = nil
    SystemCalls.close(descriptor)
    charge(0)
    exchange = nil
    endRequest()
    table.remove(self)
  }

  // MARK: Reading

  private func receive() {
    guard phase == .reading || phase == .lingering else { return }
    let outcome = SystemCalls.receive(descriptor, into: table.space)
    switch (phase, outcome) {
    case (.reading, .moved(let count)):
      lastProgress = table.loop.now
      if !reader.isWithinRequest { began = lastProgress }
      let input = input ?? ByteBuffer(capacity: count)
      input.append(UnsafeRawBufferPointer(rebasing: table.space[..<count]))
      self.input = input
      goOn()
    case (.reading, .ended) where reader.isWithinRequest:
      refuse(HTTPFault(400, "the request ended before it was whole"))
    case (_, .ended), (_, .failed): close()
    case (_, .moved), (_, .wouldBlock): break
    }
  }

  /// Takes requests out of what has come, until one has to be waited for.
  private func proceed() {
    guard !isProceeding else { return }
    isProceeding = true
    defer { isProceeding = false }
    while phase == .reading, unsent == 0, let input, place < input.count {
      do throws(HTTPFault) { try read(input) } catch { refuse(error) }
    }
    if phase == .reading, let input, place == input.count {
      self.input = nil
      place = 0
    }
  }

  private func read(_ input: ByteBuffer) throws(HTTPFault) {
    var step = try reader.read(input.bytes, at: &place)
    if step == .head {
      if reader.head.expectsContinue, place == input.count { try promise() }
      step = try reader.read(input.bytes, at: &place)
    }
    if step == .whole { return begin() }
    settle()
    guard reader.heldBytes <= HTTPServer.smallRequestBytes || table.server.hasRoom else { throw HTTPServer.noRoom }
  }

  /// Tells a client that waits with its body to send it.
  private func promise() throws(HTTPFault) {
    guard !reader.isTooLarge else { throw HTTPFault(413, "the body is larger than limits.request_bytes", .tooLarge) }
    output.append("HTTP/1.1 100 Continue\r\n\r\n" as StaticString)
    flush()
  }

  /// Has a request that is whole answered.
  private func begin() {
    let exchange = HTTPExchange(table.server.nextToken(), reader, connection: number, peer: peer)
    reader.reset()
    began = table.loop.now
    self.exchange = exchange
    phase = .answering
    isUnderWay = true
    table.server.beganRequest()
    manner = HTTPResponse.Manner(
      isHead: exchange.method == "HEAD", isOld: exchange.head.minorVersion == 0, closes: !exchange.head.keepsAlive)
    table.server.serve(exchange, on: self)
  }

  /// Answers what can't be taken and ends the connection.
  private func refuse(_ fault: HTTPFault) {
    reader.reset()
    input = nil
    place = 0
    manner = HTTPResponse.Manner()
    phase = .answering
    respond(HTTPResponse(fault.error, status: fault.status))
  }

  // MARK: Answering

  /// Answers the request that waits for it.
  func respond(_ response: HTTPResponse) {
    guard phase == .answering else { return }
    if table.server.isDraining { manner.closes = true }
    response.write(manner, to: output)
    exchange = nil
    phase = manner.closes ? .ending : .reading
    flush()
    goOn()
  }

  /// Answers the request with that token, if it still waits.
  func respond(_ response: HTTPResponse, to token: UInt64) {
    if exchange?.token == token { respond(response) }
  }

  private func flush() {
    guard unsent > 0, phase != .closed else { return }
    if sent == 0 { lastProgress = table.loop.now }
    switch SystemCalls.send(descriptor, UnsafeRawBufferPointer(rebasing: output.bytes[sent...])) {
    case .moved(let count):
      sent += count
      lastProgress = table.loop.now
      guard unsent == 0 else { return }
      output = ByteBuffer(capacity: 16)
      sent = 0
      if phase == .reading || phase == .ending { endRequest() }
    case .wouldBlock: break
    case .ended, .failed: close()
    }
  }

  private func endRequest() {
    guard isUnderWay else { return }
    isUnderWay = false
    table.server.endedRequest()
  }

  private func linger() {
    phase = .lingering
    endRequest()
    input = nil
    lastProgress = table.loop.now
    SystemCalls.endWriting(descriptor)
  }

  // MARK: Streaming

  /// Answers with events as they come.
  func begin(_ cursor: WatchCursor) {
    let server = table.server
    let number = number
    let events = EventStream(cursor, hub: table.services.hub, connection: number) { server.wake(number) }
    stream = events
    exchange = nil
    phase = .streaming
    manner.closes = true
    HTTPResponse(200, type: "text/event-stream", []).writeHead(manner, to: output)
    output.append((manner.isOld ? "\r\n" : "transfer-encoding: chunked\r\n\r\n") as StaticString)
    if server.isDraining { endStream() } else { goOn() }
  }

  /// Sends what there is to tell to a client that watches.
  func pump() {
    while phase == .streaming, let stream {
      if unsent == 0 {
        let events = ByteBuffer(capacity: 1024)
        stream.write(to: events)
        guard events.count > 0 else { break }
        writeChunk(events)
      }
      flush()
      if unsent > 0 { break }
    }
    settle()
  }

  private func writeChunk(_ events: ByteBuffer) {
    if !manner.isOld { output.append(contentsOf: String(events.count, radix: 16) + "\r\n") }
    output.append(events)
    if !manner.isOld { output.append("\r\n" as StaticString) }
  }

  /// Shows a client that watches that the daemon is there.
  func beat() {
    stream?.beats = true
    pump()
  }

  /// Ends the stream, if there is one.
  func endStream() {
    guard phase == .streaming else { return }
    stream?.close()
    stream = nil
    if !manner.isOld { output.append("0\r\n\r\n" as StaticString) }
    phase = .ending
    flush()
    goOn()
  }

  // MARK: Time

  /// Ends what has taken too long by `now`, in the loop's milliseconds.
  func endLate(_ now: UInt64) {
    let isStuck = now >= lastProgress + HTTPServer.progressTime
    switch phase {
    case .reading where unsent == 0 && reader.isWithinRequest:
      guard isStuck || now >= began + HTTPServer.requestTime else { return }
      refuse(HTTPFault(408, "the request took too long to come"))
    case .reading, .ending: if isStuck { close() }
    case .streaming: if isStuck, unsent > 0 { close() }
    case .lingering: if now >= lastProgress + HTTPServer.lingerTime { close() }
    case .answering, .closed: break
    }
  }
}
