package import RuledCore

/// Writing: from the output buffer to the socket, once a turn.
extension Connection {
  /// How many bytes wait to be sent.
  package var unsent: Int { (output?.count ?? 0) - sent }

  /// Appends bytes to what is written at the end of the turn; dropped when the client is gone.
  package func send(_ bytes: UnsafeRawBufferPointer) {
    withOutput { $0.append(bytes) }
  }

  /// Lets `body` append to what is written at the end of the turn; not called when the client is gone.
  @inline(__always)
  package func withOutput(_ body: (ByteBuffer) -> Void) {
    guard isOpen, !outputBroken else { return }
    if output == nil { output = table.pool.output() }
    guard let output else { return }
    body(output)
    if !isBlocked { queue() }
  }

  /// Writes what the socket takes.
  func flush() {
    guard let output, output.count > sent else { return }
    switch SystemCalls.send(descriptor, UnsafeRawBufferPointer(rebasing: output.bytes[sent...])) {
    case .moved(let count):
      sent += count
      lastProgress = table.loop.now
      if sent == output.count {
        self.output = nil
        sent = 0
        table.pool.giveBack(output)
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

  /// Drops output, present and to come: the client no longer reads.
  ///
  /// What it has sent still counts.
  func breakOutput() {
    outputBroken = true
    if let output { table.pool.giveBack(output) }
    output = nil
    sent = 0
    setBlocked(false)
  }

  /// Moves the rest to the front once that is less than what is gone, so that the cost stays linear.
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
