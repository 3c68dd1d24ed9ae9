internal import RuledCore

/// One client on a Unix stream socket that speaks JSON-RPC lines, confined to its loop.
///
/// Lines go to the handler as they come; output gathers and is written once a turn. When the client does not read its replies, or
/// too many requests are in flight, nothing more is read and no line handed out until half of that is done.
/// After the client has ended its side, replies in flight still go out, then the connection closes.
package final class Connection {
  /// What the connection is about.
  enum Phase {
    /// No byte has come yet that says which dialect the client speaks.
    case undecided
    /// JSON-RPC lines.
    case lines
    /// Over; the descriptor is closed or given away.
    case closed
  }

  /// The name under which the connection's table finds it.
  package let token: ConnectionToken
  /// Who is at the other end.
  package let peer: PeerCredentials?
  /// Requests whose replies are still to come.
  package private(set) var requestsInFlight = 0
  /// Room for the handler: a number that it knows the connection's own data by.
  package var tag = 0

  let table: ConnectionTable
  let descriptor: Int32
  var poll: DescriptorPoll?
  var phase = Phase.undecided
  /// Whether the table has the connection in its list for the end of the turn.
  var isQueued = false
  private var owesClosed = false

  var framer: LineFramer?
  var isDelivering = false
  var isPaused = false
  /// Whether the client will send nothing more, or nothing more is wanted.
  var inputEnded = false
  /// Whether an unterminated last line counts.
  var lastLineCounts = true
  /// How many bytes may still be read once the daemon is shutting down; nil before.
  var drainAllowance: Int?

  var output: ByteBuffer?
  /// How many bytes of the output are sent already.
  var sent = 0
  /// Whether the client can no longer be written to.
  var outputBroken = false
  /// Whether the socket took less than there was.
  var isBlocked = false
  /// When output last made progress, in the loop's milliseconds.
  var lastProgress: UInt64 = 0
  /// Whether part of a line is held that takes more than the room of one read.
  var hasLongLine = false
  /// When bytes of a long line last came, in the loop's milliseconds.
  var lastInput: UInt64 = 0
  /// Whether the handler wants no further line for now.
  private(set) var isHeld = false

  init(_ descriptor: Int32, token: ConnectionToken, in table: ConnectionTable) throws(SystemError) {
    self.descriptor = descriptor
    self.token = token
    self.table = table
    peer = PeerCredentials(of: descriptor)
    poll = try DescriptorPoll(on: table.loop, descriptor) { [self] events in ready(events) }
    poll?.wait(for: .readable)
  }

  /// Whether the connection is not over.
  package var isOpen: Bool { phase != .closed }

  /// The supplementary groups of the peer.
  package var peerGroups: [UInt32] { isOpen ? PeerCredentials.groups(of: descriptor) : [] }

  /// Counts a request whose reply will come later.
  package func beginRequest() { requestsInFlight += 1 }

  /// Counts the reply of a request as sent; to be called after its `send`.
  package func endRequest() {
    precondition(requestsInFlight > 0, "a request ends once")
    requestsInFlight -= 1
    if isOpen, isPaused || inputEnded { queue() }
  }

  /// Hands out no further line until `release`.
  package func hold() { isHeld = true }

  /// Goes on handing out lines.
  package func release() {
    guard isHeld else { return }
    isHeld = false
    if isOpen { queue() }
  }

  /// Whether a long line is the client's to go on with.
  var waitsForLine: Bool { framer?.isGrown == true && !isPaused && !inputEnded }

  /// Closes at once: unsent output and undelivered lines are dropped.
  package func close() {
    guard isOpen else { return }
    leave()
    SystemCalls.close(descriptor)
    owesClosed = true
    queue()
  }

  /// Takes what the client has sent so far, answers it, then closes; for the daemon's shutdown.
  package func drain() {
    guard isOpen, drainAllowance == nil else { return }
    drainAllowance = table.limits.lineBytes
    if phase == .undecided { decide() }
    if phase == .undecided { return close() }
    if !isPaused { table.loop.soon { [self] in resume() } }
  }

  /// Puts the connection into the table's list for the end of the turn.
  func queue() {
    guard !isQueued else { return }
    isQueued = true
    table.queue(self)
  }

  /// Leaves the loop and the table, and gives the buffers back.
  private func leave() {
    phase = .closed
    poll?.close()
    poll = nil
    table.remove(self)
    if let output { table.pool.giveBack(output) }
    output = nil
    sent = 0
    if !isDelivering { framer = nil }
  }

  private func ready(_ events: DescriptorPoll.Events) {
    if events.contains(.failed) {
      _ = SystemCalls.socketOption(descriptor, SystemCalls.pendingErrorOption)
      breakOutput()
      if !isPaused { read() }
      queue()
      return
    }
    if events.contains(.writable) { queue() }
    guard events.contains(.readable) else { return }
    if phase == .undecided { decide() }
    if phase == .lines, !isPaused, !inputEnded { read() }
  }

  /// Looks at the first byte and leaves it where it is.
  private func decide() {
    var first: UInt8 = 0
    switch withUnsafeMutableBytes(of: &first, { SystemCalls.receive(descriptor, into: $0, peek: true) }) {
    case .wouldBlock: return
    case .ended, .failed: close()
    case .moved:
      switch first {
      case UInt8(ascii: "{"), UInt8(ascii: "["), 0x20, 0x09, 0x0A, 0x0D:
        phase = .lines
      default:
        leave()
        table.handler?.foreign(descriptor: descriptor, peer: peer)
      }
    }
  }

  /// Does what the end of a turn asks for: writes, goes on reading, or closes.
  func settle() {
    if isOpen { flush() }
    guard isOpen else {
      if owesClosed { table.handler?.closed(self) }
      owesClosed = false
      return
    }
    if isPaused, isBelowHalf {
      isPaused = false
      table.loop.soon { [self] in resume() }
    } else if inputEnded, !isPaused, framer == nil, requestsInFlight == 0 || outputBroken, unsent == 0 {
      return close()
    }
    updateInterest()
  }

  /// Waits for what is of use now.
  func updateInterest() {
    var events: DescriptorPoll.Events = []
    if !isPaused, !inputEnded { events.insert(.readable) }
    if isBlocked { events.insert(.writable) }
    poll?.wait(for: events)
  }
}
