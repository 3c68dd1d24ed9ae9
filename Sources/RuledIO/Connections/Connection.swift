package import RuledCore

/// One client on a Unix stream socket that speaks JSON-RPC lines, confined to its loop.
///
/// Lines go to the handler as they come; output gathers and is written once a tick. When the client does not read its replies, or
/// too many of its requests are in flight, the connection pauses: it reads nothing and delivers no line until both are below half of their limit.
/// After the client has ended its side, replies in flight are still sent, then the connection closes.
package final class Connection {
  enum Phase {
    /// No byte has come yet that shows which protocol the client speaks.
    case detecting
    /// JSON-RPC lines.
    case lines
    /// Over; the descriptor is closed or given away.
    case closed
  }

  package let token: ConnectionToken
  package let peer: PeerCredentials?
  /// The client if another node has carried its connection here, so that the process at the other end is not the client.
  package private(set) var carried: ClientAccess?
  private(set) var requestsInFlight = 0
  /// The bytes of replies that wait for the rest of their request batches; for reading they count as unsent.
  private(set) var waitingBytes = 0
  /// A number for the handler's use.
  package var tag = 0
  /// Its permit among all connections; nil if these are not counted.
  package let permit: ConnectionPermit?
  /// A number that stands for the permit's owner; 0 without a permit.
  package let owner: UInt32

  package let table: ConnectionTable
  let descriptor: Int32
  var poll: DescriptorPoll?
  var phase = Phase.detecting
  /// Whether the table has the connection in its list for the end of the tick.
  private(set) var isQueued = false
  /// Whether the handler has yet to be told that the connection closed.
  private var owesClosed = false

  // Input.
  var framer: LineFramer?
  var isDelivering = false
  var isPaused = false
  /// Whether the client will send nothing more, or nothing more is wanted.
  var inputEnded = false
  /// Whether a last line without a newline is delivered.
  var deliversLastLine = true
  /// The bytes that may still be read during the daemon's shutdown; nil before.
  var drainAllowance: Int?
  private(set) var isPausedByHandler = false
  /// Whether part of a line is buffered that takes more than the room of one read.
  var hasLongLine = false
  /// When bytes of a long line last came, and when the line began, in the loop's milliseconds.
  var lastInput: UInt64 = 0
  var lineStart: UInt64 = 0

  // Output.
  var output: ByteBuffer?
  /// The bytes of the output that are sent already.
  var sent = 0
  private var outputMemory: OutputMemory
  /// Whether the client can no longer be written to.
  package private(set) var outputBroken = false
  /// Whether the socket took less than there was.
  package internal(set) var isBlocked = false
  /// When output last made progress, in the loop's milliseconds.
  var lastProgress: UInt64 = 0

  init(
    _ descriptor: Int32, with permit: ConnectionPermit?, token: ConnectionToken, in table: ConnectionTable
  ) throws(SystemError) {
    self.descriptor = descriptor
    self.permit = permit
    owner = permit?.ownerNumber ?? 0
    self.token = token
    self.table = table
    outputMemory = OutputMemory(table.limits.outputMemory)
    peer = PeerCredentials(of: descriptor)
    poll = try DescriptorPoll(on: table.loop, descriptor) { [self] events in ready(events) }
    poll?.wait(for: .readable)
  }

  /// The connection is one that another node has carried here for a client, which speaks JSON-RPC lines.
  package func speakLines(for client: ClientAccess) {
    carried = client
    phase = .lines
  }

  /// Whether the client sends nothing more, and all of its lines were delivered.
  package var hasDeliveredAll: Bool { inputEnded && framer == nil }

  package var isOpen: Bool { phase != .closed }

  /// Whether no replies can be read any more, as the client has closed its socket, and not only its own side of it.
  package var isAbandoned: Bool { !isOpen || inputEnded && SystemCalls.hasHungUp(descriptor) }

  /// Notices that the client has closed its socket, and not only its own side of it, before anything is written to it.
  package func noticeHangUp() { if isOpen, !outputBroken, SystemCalls.hasHungUp(descriptor) { breakOutput() } }

  /// The supplementary groups of the peer.
  package var peerGroups: [UInt32] { isOpen ? PeerCredentials.groups(of: descriptor) : [] }

  // MARK: Requests

  /// Counts a request whose reply will come later.
  package func beginRequest() { requestsInFlight += 1 }

  /// Counts the reply of a request as sent.
  ///
  /// To be called after `addOutput`.
  package func endRequest() {
    precondition(requestsInFlight > 0, "a request ends once")
    requestsInFlight -= 1
    if isOpen, isPaused || inputEnded { queueForTickEnd() }
  }

  /// Counts bytes of replies that wait for others, or no longer do.
  package func countWaiting(_ bytes: Int) {
    waitingBytes += bytes
    if isOpen, bytes < 0 ? isPaused : !outputMemory.cover(unsent + waitingBytes) { queueForTickEnd() }
  }

  /// Delivers no further line until `resumeLines`.
  package func pauseLines() {
    isPausedByHandler = true
    isPaused = true
    if isOpen { queueForTickEnd() }
  }

  package func resumeLines() {
    guard isPausedByHandler else { return }
    isPausedByHandler = false
    if isOpen { queueForTickEnd() }
  }

  /// Whether something of it is under way: a request, or output that the client has not taken.
  private var isBusy: Bool { requestsInFlight > 0 || unsent > 0 || isPausedByHandler }

  func noteUse() { permit?.note(isBusy: isBusy, now: table.loop.now) }

  // MARK: Ending

  /// Closes for another connection, which got its permit, unless something of it is under way.
  package func evict() { if isBusy { permit?.restore() } else { close() } }

  /// Closes at once: unsent output and undelivered lines are dropped.
  package func close() {
    guard isOpen else { return }
    detach()
    SystemCalls.close(descriptor)
    owesClosed = true
    queueForTickEnd()
  }

  /// Reads all input that the client has sent so far, answers it, then closes; for the daemon's shutdown.
  func drain() {
    guard isOpen, drainAllowance == nil else { return }
    drainAllowance = table.limits.lineBytes
    if phase == .detecting { detectProtocol() }
    if phase == .detecting { return close() }
    if !isPaused { table.loop.onNextTick { [self] in resume() } }
  }

  /// Removes the connection from the loop and the table, and returns its buffers to the pool.
  private func detach() {
    phase = .closed
    poll?.close()
    poll = nil
    _ = outputMemory.cover(0)
    table.remove(self)
    if let output { table.pool.reclaim(output) }
    output = nil
    sent = 0
    if !isDelivering { framer = nil }
  }

  // MARK: Events

  private func ready(_ events: DescriptorPoll.Events) {
    if events.contains(.failed) {
      _ = SystemCalls.socketOption(descriptor, SystemCalls.pendingErrorOption)
      breakOutput()
      if !isPaused { readInput() }
      queueForTickEnd()
      return
    }
    if events.contains(.writable) { queueForTickEnd() }
    guard events.contains(.readable) else { return }
    if phase == .detecting { detectProtocol() }
    if phase == .lines, !isPaused, !inputEnded { readInput() }
  }

  /// Whether a client whose first byte this is speaks JSON-RPC lines, and not HTTP; one that begins with a byte order mark does, and is told so.
  package static func beginsLines(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["), 0x20, 0x09, 0x0A, 0x0D, 0xEF: true
    default: false
    }
  }

  /// Decides by the first byte, which remains unread.
  private func detectProtocol() {
    var first: UInt8 = 0
    switch SystemCalls.peek(descriptor, &first) {
    case .wouldBlock: return
    case .ended, .failed: close()
    case .moved:
      if Self.beginsLines(first) {
        phase = .lines
      } else {
        detach()
        table.handler?.receiveOtherProtocol(on: descriptor, with: permit)
      }
    }
  }

  /// Puts the connection into the table's list for the end of the tick.
  func queueForTickEnd() {
    guard !isQueued else { return }
    isQueued = true
    table.finishLater(self)
  }

  /// Writes, then resumes reading or closes if it is time for that.
  func finishTick() {
    isQueued = false
    if isOpen {
      sendOutput()
      if !outputMemory.cover(unsent + waitingBytes) {
        table.handler?.reportUnreadOutput(on: self)
        close()
      }
      noteUse()
    }
    guard isOpen else {
      if owesClosed { table.handler?.forget(self) }
      owesClosed = false
      return
    }
    if isPaused, isBelowHalf {
      isPaused = false
      table.loop.onNextTick { [self] in resume() }
    } else if hasDeliveredAll, !isPaused, requestsInFlight == 0 || outputBroken, unsent == 0 {
      return close()
    }
    updateInterest()
  }

  func updateInterest() {
    var events: DescriptorPoll.Events = []
    if !isPaused, !inputEnded { events.insert(.readable) }
    if isBlocked { events.insert(.writable) }
    poll?.wait(for: events)
  }

  // MARK: Reading

  /// Reads once and delivers the lines that became complete.
  func readInput() {
    guard phase == .lines, !inputEnded else { return }
    if isAboveLimit {
      isPaused = true
      return queueForTickEnd()
    }
    let framer = framer ?? table.pool.framer()
    self.framer = framer
    switch framer.fill({ SystemCalls.receive(descriptor, into: &$0) }) {
    case .moved(let count): reduceAllowance(by: count)
    case .wouldBlock:
      if drainAllowance != nil { endInput(deliveringLastLine: false) }
    case .ended: endInput(deliveringLastLine: drainAllowance == nil)
    case .failed:
      breakOutput()
      endInput(deliveringLastLine: false)
    }
    deliverLines()
    updateLongLine()
  }

  /// Continues after a pause: first with the buffered input, then with the socket.
  func resume() {
    guard phase == .lines, !isPaused else { return }
    deliverLines()
    guard isOpen, !isPaused else { return }
    if drainAllowance != nil, !inputEnded {
      readInput()
      if isOpen, !inputEnded, !isPaused { table.loop.onNextTick { [self] in resume() } }
    }
    queueForTickEnd()
  }

  /// Whether so much is under way that nothing more is read.
  private var isAboveLimit: Bool {
    isPausedByHandler || unsent + waitingBytes > table.limits.unsentBytes
      || requestsInFlight >= table.limits.requestsInFlight
  }

  /// Whether so little is under way that a paused connection reads again.
  var isBelowHalf: Bool {
    !isPausedByHandler && unsent + waitingBytes <= table.limits.unsentBytes / 2
      && requestsInFlight <= table.limits.requestsInFlight / 2
  }

  /// Whether the client has sent only part of a long line.
  var waitsForLine: Bool { framer?.isGrown == true && !isPaused && !inputEnded }

  /// Has the table watch for a long line that makes no progress.
  private func updateLongLine() {
    let isLong = isOpen && framer?.isGrown == true
    if isLong { lastInput = table.loop.now }
    if isLong, !hasLongLine { lineStart = table.loop.now }
    guard isLong != hasLongLine, isOpen else { return }
    hasLongLine = isLong
    table.countBlocked(isLong ? 1 : -1)
  }

  private func reduceAllowance(by count: Int) {
    guard let allowance = drainAllowance else { return }
    drainAllowance = max(0, allowance - count)
    if allowance <= count { endInput(deliveringLastLine: false) }
  }

  private func endInput(deliveringLastLine: Bool) {
    inputEnded = true
    deliversLastLine = deliveringLastLine
    table.handler?.noteInputEnd(on: self)
    queueForTickEnd()
  }

  /// Delivers buffered lines until there is none, the connection pauses or the handler closes it.
  private func deliverLines() {
    guard !isDelivering, let framer, let handler = table.handler else { return }
    isDelivering = true
    var isUsed = false
    while phase == .lines, !isPaused, let item = framer.cutLine() {
      handOver(item, to: handler)
      isUsed = true
    }
    if isUsed {
      noteUse()
      lineStart = table.loop.now
    }
    if inputEnded, deliversLastLine, phase == .lines, !isPaused, let item = framer.lastLine() {
      handOver(item, to: handler)
    }
    isDelivering = false
    if isPaused, isOpen { return updateInterest() }
    if phase == .closed || inputEnded || framer.isEmpty {
      self.framer = nil
      table.pool.reclaim(framer)
    }
  }

  private func handOver(_ item: LineFramer.Item, to handler: any ConnectionHandler) {
    switch item {
    case .line(let line): handler.receiveLine(line, on: self)
    case .skipped(let reason): handler.reportSkippedLine(reason, on: self)
    }
    if isOpen, isAboveLimit {
      isPaused = true
      queueForTickEnd()
    }
  }

  // MARK: Writing

  package var unsent: Int { (output?.count ?? 0) - sent }

  /// Appends bytes, which are written at the end of the tick; dropped when the client is gone.
  package func addOutput(_ bytes: ByteView) { withOutput { $0.append(bytes) } }

  /// Lets `body` append bytes, which are written at the end of the tick; not called when the client is gone.
  @inline(__always)
  package func withOutput(_ body: (ByteBuffer) -> Void) {
    guard isOpen, !outputBroken else { return }
    if output == nil { output = table.pool.output() }
    guard let output else { return }
    body(output)
    if !isBlocked { queueForTickEnd() }
  }

  /// Writes as much as the socket takes.
  package func sendOutput() {
    guard let output, output.count > sent else { return }
    switch SystemCalls.send(descriptor, output.bytes.extracting(sent...)) {
    case .moved(let count):
      sent += count
      lastProgress = table.loop.now
      if sent == output.count {
        self.output = nil
        sent = 0
        table.pool.reclaim(output)
        setBlocked(false)
      } else {
        compact(output)
        setBlocked(true)
      }
    case .wouldBlock:
      if !isBlocked { lastProgress = table.loop.now }
      setBlocked(true)
    case .ended, .failed: breakOutput()
    }
  }

  /// Drops output, present and future: the client no longer reads.
  ///
  /// The requests that it has sent are still executed.
  func breakOutput() {
    if !outputBroken { table.handler?.noteOutputEnd(on: self) }
    outputBroken = true
    if let output { table.pool.reclaim(output) }
    output = nil
    sent = 0
    setBlocked(false)
  }

  /// Moves the unsent bytes to the front once they are fewer than the sent ones, so that the cost stays linear.
  private func compact(_ output: ByteBuffer) {
    guard sent >= output.count - sent else { return }
    output.removeFirst(sent)
    sent = 0
  }

  private func setBlocked(_ blocked: Bool) {
    guard blocked != isBlocked else { return }
    isBlocked = blocked
    table.countBlocked(blocked ? 1 : -1)
  }
}
