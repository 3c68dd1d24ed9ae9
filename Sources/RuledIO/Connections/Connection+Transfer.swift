package import RuledCore

/// From the socket into lines, and from the output buffer to the socket.
extension Connection {
  // MARK: Reading

  /// Reads once and delivers the lines that became complete.
  func read() {
    guard phase == .lines, !inputEnded else { return }
    if isAboveLimit {
      isPaused = true
      return queueForTickEnd()
    }
    let framer = framer ?? table.pool.framer()
    self.framer = framer
    switch framer.fill({ SystemCalls.receive(descriptor, into: &$0) }) {
    case .moved(let count):
      reduceAllowance(by: count)
    case .wouldBlock:
      if drainAllowance != nil { endInput(deliveringLastLine: false) }
    case .ended:
      endInput(deliveringLastLine: drainAllowance == nil)
    case .failed:
      breakOutput()
      endInput(deliveringLastLine: false)
    }
    deliverLines()
    updateLongLine()
  }

  /// Continues after a pause: first with what is buffered, then with the socket.
  func resume() {
    guard phase == .lines, !isPaused else { return }
    deliverLines()
    guard isOpen, !isPaused else { return }
    if drainAllowance != nil, !inputEnded {
      read()
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
    while phase == .lines, !isPaused, let item = framer.next() {
      deliver(item, to: handler)
      isUsed = true
    }
    if isUsed {
      noteUse()
      lineStart = table.loop.now
    }
    if inputEnded, deliversLastLine, phase == .lines, !isPaused, let item = framer.last() { deliver(item, to: handler) }
    isDelivering = false
    if isPaused, isOpen { return updateInterest() }
    if phase == .closed || inputEnded || framer.isEmpty {
      self.framer = nil
      table.pool.recycle(framer)
    }
  }

  private func deliver(_ item: LineFramer.Item, to handler: any ConnectionHandler) {
    switch item {
    case .line(let line): handler.receive(line: line, on: self)
    case .skipped(let reason): handler.reportSkippedLine(reason, on: self)
    }
    if isOpen, isAboveLimit {
      isPaused = true
      queueForTickEnd()
    }
  }

  // MARK: Writing

  /// How many bytes wait to be sent.
  package var unsent: Int { (output?.count ?? 0) - sent }

  /// Appends bytes that are written at the end of the tick; dropped when the client is gone.
  package func send(_ bytes: ByteView) {
    withOutput { $0.append(bytes) }
  }

  /// Lets `body` append bytes that are written at the end of the tick; not called when the client is gone.
  @inline(__always)
  package func withOutput(_ body: (ByteBuffer) -> Void) {
    guard isOpen, !outputBroken else { return }
    if output == nil { output = table.pool.output() }
    guard let output else { return }
    body(output)
    if !isBlocked { queueForTickEnd() }
  }

  /// Writes as much as the socket takes.
  package func write() {
    guard let output, output.count > sent else { return }
    switch SystemCalls.send(descriptor, output.bytes.extracting(sent...)) {
    case .moved(let count):
      sent += count
      lastProgress = table.loop.now
      if sent == output.count {
        self.output = nil
        sent = 0
        table.pool.recycle(output)
        setBlocked(false)
      } else {
        compact(output)
        setBlocked(true)
      }
    case .wouldBlock:
      if !isBlocked { lastProgress = table.loop.now }
      setBlocked(true)
    case .ended, .failed:
      breakOutput()
    }
  }

  /// Drops output, present and future: the client no longer reads.
  ///
  /// The requests that it has sent are still executed.
  func breakOutput() {
    outputBroken = true
    if let output { table.pool.recycle(output) }
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
