import RuledCore
import RuledIO
import RuledPeers
import RuledThreads
import RuledWire

/// A client of a follower that speaks JSON-RPC lines: its requests go to the owner, and the replies come from there; confined to a loop.
///
/// Lines are passed on unchanged, and unanswered requests are counted. So when the tunnel breaks, each of them gets an error, and the
/// connection stays.
final class ForwardedLines {
  let connection: Connection
  private let loop: EventLoop
  let client: ClientAccess
  private let route: OwnerRoute
  private var requests: UnansweredRequests

  /// The socket of the tunnel; nil without a tunnel.
  private var socket: Int32?
  private var poll: DescriptorPoll?
  /// How the last tunnel ended: set on the thread of the tunnels; nil while it is open.
  private var outcome = Shared<PeerLink.Outcome?>(nil)

  /// Lines that have not been written to the tunnel.
  private let output = ByteBuffer(capacity: 1024)
  private var sent = 0
  private var pausesLines = false
  private var hasEndedWriting = false

  /// Unsent bytes of replies to the client: at most one incomplete line.
  private let input = ByteBuffer(capacity: 1024)
  /// Whether the client has got the beginning of a line whose end has not come.
  private var isWithinLine = false

  /// A client's connection, which has no tunnel yet; `all` counts the unanswered requests of all clients.
  init(
    _ connection: Connection, on loop: EventLoop, _ client: ClientAccess, _ route: OwnerRoute, _ all: UnansweredCount
  ) {
    requests = UnansweredRequests(all)
    self.connection = connection
    self.loop = loop
    self.client = client
    self.route = route
  }

  // MARK: Requests

  /// Sends a line through the tunnel to the owner; `parsed` is the parsed line.
  func forward(_ line: ByteView, _ parsed: RequestLine) {
    if socket == nil { openTunnel() }
    if requests.add(parsed) { connection.beginRequest() }
    guard socket != nil else { return breakTunnel() }
    output.append(line)
    output.append(UInt8(ascii: "\n"))
    if output.count - sent > connection.table.limits.unsentBytes, !pausesLines {
      pausesLines = true
      connection.pauseLines()
    }
  }

  private func openTunnel() {
    let outcome = Shared<PeerLink.Outcome?>(nil)
    self.outcome = outcome
    let (near, far): (Int32, Int32)
    do throws(SystemError) { (near, far) = try SystemCalls.socketPair("tunnel") } catch {
      outcome.value = .refused("there is no tunnel: \(error)")
      return
    }
    do throws(SystemError) {
      poll = try DescriptorPoll(on: loop, near) { [unowned self] events in
        if events.contains(.writable) { flush() }
        if events.contains(.readable) || events.contains(.failed) { receive() }
      }
    } catch {
      for socket in [near, far] { SystemCalls.close(socket) }
      outcome.value = .refused("there is no tunnel: \(error)")
      return
    }
    socket = near
    hasEndedWriting = false
    route.open(far, for: client) { result in
      outcome.value = result
      if case .refused = result { SystemCalls.close(far) }
    }
    updateInterest()
  }

  /// Writes lines to the tunnel; called at the end of each tick.
  func flush() {
    guard let socket else { return }
    if output.count > sent {
      switch SystemCalls.send(socket, output.bytes.extracting(sent...)) {
      case .moved(let count): sent += count
      case .wouldBlock: break
      case .ended, .failed: return breakTunnel()
      }
      if sent == output.count {
        output.removeAll()
        sent = 0
      } else if sent >= output.count - sent {
        output.removeFirst(sent)
        sent = 0
      }
    }
    if pausesLines, output.count - sent <= connection.table.limits.unsentBytes / 2 {
      pausesLines = false
      connection.resumeLines()
    }
    if output.count == 0, clientHasEnded, !hasEndedWriting {
      hasEndedWriting = true
      SystemCalls.endWriting(socket)
    }
    updateInterest()
  }

  /// Whether all lines of the client have come.
  private var clientHasEnded: Bool { !connection.isOpen || connection.hasDeliveredAll }

  private func updateInterest() {
    var events: DescriptorPoll.Events = []
    // Replies wait for a client that does not read.
    if connection.unsent <= connection.table.limits.unsentBytes { events.insert(.readable) }
    if output.count > sent { events.insert(.writable) }
    poll?.wait(for: events)
  }

  // MARK: Replies

  /// The size in bytes from which on an incomplete line is passed on in pieces.
  private static let wholeLineBytes = 64 << 10

  private func receive() {
    guard let socket else { return }
    let start = input.count
    switch input.append(upTo: 64 << 10, { SystemCalls.receive(socket, into: &$0) }) {
    case .moved: passReplies(from: start)
    case .wouldBlock: break
    case .ended, .failed: breakTunnel()
    }
  }

  /// Sends the client complete lines, and the beginning of a long one; there is no line feed before `start`.
  private func passReplies(from start: Int) {
    var lineStart = 0
    var scanned = start
    while let newline = input.firstIndex(of: UInt8(ascii: "\n"), from: scanned) {
      if !isWithinLine { note(input.bytes.extracting(lineStart..<newline)) }
      isWithinLine = false
      lineStart = newline + 1
      scanned = lineStart
    }
    if input.count - lineStart > Self.wholeLineBytes || isWithinLine, input.count > lineStart {
      if isWithinLine || note(input.bytes.extracting(lineStart...)) {
        isWithinLine = true
        lineStart = input.count
      }
    }
    guard lineStart > 0 else { return }
    connection.addOutput(input.bytes.extracting(0..<lineStart))
    input.removeFirst(lineStart)
    updateInterest()
  }

  /// Notes which request a line answers; returns false if too little of the line is there to tell.
  @discardableResult
  private func note(_ line: ByteView) -> Bool {
    guard let head = ReplyHead(line) else { return false }
    if requests.noteAnswer(head) { connection.endRequest() }
    return true
  }

  // MARK: The end

  /// Ends the tunnel: unanswered requests get errors.
  ///
  /// The client is disconnected only if it could miss something without noticing.
  private func breakTunnel() {
    close()
    output.removeAll()
    sent = 0
    input.removeAll()
    let mayGoOn = !isWithinLine && requests.watches <= 0
    isWithinLine = false
    let replies = ByteBuffer()
    let count = requests.refuse(error, to: replies)
    guard connection.isOpen else { return }
    if mayGoOn { connection.addOutput(replies.bytes) }
    for _ in 0..<count { connection.endRequest() }
    if pausesLines {
      pausesLines = false
      connection.resumeLines()
    }
    guard !mayGoOn else { return }
    connection.sendOutput()
    connection.close()
  }

  private var error: RequestError {
    switch outcome.value {
    case .refused(let reason): OwnerRoute.unreachable(reason)
    case .ended(let reason): Self.broken("the connection to the owner of the log of commits broke: \(reason)")
    case nil: Self.broken("the node has ended its connection to the owner of the log of commits")
    }
  }

  private static func broken(_ what: String) -> RequestError {
    RequestError(
      .unavailable,
      "\(what); the request may have taken effect: send it again, a repeat finds the first outcome", retryAfter: 100)
  }

  func end() { breakTunnel() }

  /// Whether the client has disconnected and its tunnel has ended.
  var isOver: Bool { !connection.isOpen && socket == nil }

  private func close() {
    poll?.close()
    poll = nil
    if let socket { SystemCalls.close(socket) }
    socket = nil
  }
}
