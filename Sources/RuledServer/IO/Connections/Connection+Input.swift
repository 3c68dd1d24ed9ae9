/// Reading: from the socket into lines.
extension Connection {
  /// Whether so much is under way that nothing more is to be read.
  private var isAboveLimit: Bool {
    isHeld || unsent > table.limits.unsentBytes || requestsInFlight >= table.limits.requestsInFlight
  }

  /// Whether enough is done to read on.
  var isBelowHalf: Bool {
    !isHeld && unsent <= table.limits.unsentBytes / 2 && requestsInFlight <= table.limits.requestsInFlight / 2
  }

  /// Reads once and hands out the lines that became whole.
  func read() {
    guard phase == .lines, !inputEnded else { return }
    if isAboveLimit {
      isPaused = true
      return queue()
    }
    let framer = framer ?? table.pool.framer()
    self.framer = framer
    switch SystemCalls.receive(descriptor, into: framer.space()) {
    case .moved(let count):
      framer.advance(count)
      spendAllowance(count)
    case .wouldBlock:
      if drainAllowance != nil { endInput(lastLineCounts: false) }
    case .ended:
      endInput(lastLineCounts: drainAllowance == nil)
    case .failed:
      breakOutput()
      endInput(lastLineCounts: false)
    }
    deliver()
    noteLongLine()
  }

  /// Has a long line that does not go on noticed.
  private func noteLongLine() {
    let isLong = isOpen && framer?.isGrown == true
    if isLong { lastInput = table.loop.now }
    guard isLong != hasLongLine, isOpen else { return }
    hasLongLine = isLong
    table.countBlocked(isLong ? 1 : -1)
  }

  /// Goes on after a pause: first what is buffered, then the socket.
  func resume() {
    guard phase == .lines, !isPaused else { return }
    deliver()
    guard isOpen, !isPaused else { return }
    if drainAllowance != nil, !inputEnded {
      read()
      if isOpen, !inputEnded, !isPaused { table.loop.soon { [self] in resume() } }
    }
    queue()
  }

  private func spendAllowance(_ count: Int) {
    guard let left = drainAllowance else { return }
    drainAllowance = max(0, left - count)
    if left <= count { endInput(lastLineCounts: false) }
  }

  private func endInput(lastLineCounts: Bool) {
    inputEnded = true
    self.lastLineCounts = lastLineCounts
    queue()
  }

  /// Hands out buffered lines until there is none, the connection pauses or the handler closes it.
  private func deliver() {
    guard !isDelivering, let framer, let handler = table.handler else { return }
    isDelivering = true
    while phase == .lines, !isPaused, let item = framer.next() { hand(item, to: handler) }
    if inputEnded, lastLineCounts, phase == .lines, !isPaused, let item = framer.last() { hand(item, to: handler) }
    isDelivering = false
    if isPaused, isOpen { return updateInterest() }
    if phase == .closed || inputEnded || framer.isEmpty {
      self.framer = nil
      table.pool.giveBack(framer)
    }
  }

  private func hand(_ item: LineFramer.Item, to handler: any ConnectionHandler) {
    switch item {
    case .line(let line): handler.received(line: line, on: self)
    case .tooLong: handler.tooLong(on: self)
    case .noRoom: handler.noRoom(on: self)
    }
    if isOpen, isAboveLimit {
      isPaused = true
      queue()
    }
  }
}
