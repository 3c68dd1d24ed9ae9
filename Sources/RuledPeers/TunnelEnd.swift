internal import RuledCore
internal import RuledIO

/// One end of a tunnel: moves bytes between the connection to another node and a socket of this host; confined to the loop.
///
/// Each direction has at most `PeerFrame.window` bytes in flight, buffers at both ends included. So if one side does not read, the other
/// waits, while the connection still carries the other direction, `ping` and `pong`.
final class TunnelEnd: StreamOwner, Watched, @unchecked Sendable {  // confined to the loop's thread
  /// The other end of the socket.
  enum Local {
    /// A client: everything for it is written before its socket is closed.
    case client
    /// The daemon: once it ends its side, it has sent everything.
    case daemon
  }

  private let loop: LoopState
  private let local: Local
  private let limits: PeerLimits
  private let stream: StreamSocket
  private var connection: PeerConnection?
  private let ended: () -> Void

  /// The bytes of data that the peer accepts now.
  private var room = PeerFrame.window
  private var isReading = false
  /// Whether the socket has no more to read.
  private var inputEnded = false

  /// Data for the socket behind `writing`.
  private var waiting = ByteBuffer()
  private var writing = ByteBuffer()
  private var isWriting = false
  /// The bytes written to the socket for which the peer has not got new room yet.
  private var ungranted = 0
  /// Whether the peer sends no more data.
  private var outputEnded = false
  private var hasEndedWriting = false
  /// Whether the socket can't be written any more.
  private var isBroken = false
  /// When the socket is closed in any case, in the loop's milliseconds.
  private var deadline: UInt64?
  private var isClosed = false

  /// The end with the socket `descriptor`, which it owns unless this throws; `ended` is called once, when the socket is closed.
  init(
    on loop: LoopState, _ descriptor: Int32, _ local: Local, _ connection: PeerConnection, _ limits: PeerLimits,
    ended: @escaping () -> Void
  ) throws(SystemError) {
    stream = try StreamSocket(on: loop.events, descriptor)
    self.loop = loop
    self.local = local
    self.connection = connection
    self.limits = limits
    self.ended = ended
    stream.attach(self)
    loop.watch(self)
  }

  /// Begins to move bytes; `bytes` were read from the socket before.
  func begin(after bytes: ByteView = .empty) {
    if !bytes.isEmpty { sendData(bytes) }
    updateReading()
  }

  // MARK: From the socket to the peer

  func connected(_ failure: SystemError?) {}

  func received(_ bytes: ByteView) {
    guard connection != nil else { return }  // the peer is gone
    sendData(bytes)
    updateReading()
  }

  private func sendData(_ bytes: ByteView) {
    room -= bytes.count
    connection?.send { PeerFrame.writeData(bytes, into: $0) }
  }

  private func updateReading() {
    // Without a connection, input is read and dropped, so that the end of the socket is noticed.
    let reads = !inputEnded && (connection == nil || room > 0)
    stream.readLimit = connection == nil ? .max : max(1, room)
    guard reads != isReading else { return }
    isReading = reads
    if reads { stream.startReading() } else { stream.stopReading() }
  }

  func inputDidEnd() {
    isReading = false
    inputEnded = true
    guard let connection else {
      if hasEndedWriting { close() }  // otherwise waiting bytes are written first
      return
    }
    if isBroken, local == .client { return ended("the client has gone") }
    connection.send(PeerFrame.writeEnd)
    // The peer ends the connection once it has read all; a dead one is noticed by its silence.
    if local == .daemon { deadline = loop.now + limits.stallMilliseconds }
  }

  func writeFailed(_ reason: String) {
    // Either may have said its last words before it closed its side: they are read up to the end.
    guard connection != nil, !inputEnded else { return ended(reason) }
    isBroken = true
    waiting.removeAll()
  }

  func ended(_ reason: String) {
    isBroken = true
    waiting.removeAll()
    guard let connection else { return close() }
    guard local == .client else {
      if !inputEnded { inputDidEnd() }
      return
    }
    connection.endWhenSent("the client has gone")
  }

  // MARK: From the peer to the socket

  /// Handles a frame of the tunnel; returns false if the peer must not send it now.
  func receive(_ frame: PeerFrame) -> Bool {
    switch frame {
    case .data(let bytes):
      guard !outputEnded, waiting.count + writing.count + ungranted + bytes.count <= PeerFrame.window else {
        return false
      }
      guard !isBroken else {
        connection?.send { PeerFrame.writeRoom(bytes.count, into: $0) }  // it goes on reading what the other side sends
        return true
      }
      waiting.append(bytes)
      write()
    case .room(let count):
      guard count <= PeerFrame.window - room else { return false }
      room += count
      updateReading()
    case .end:
      guard !outputEnded else { return false }
      outputEnded = true
      // Nothing follows the end of a daemon's data.
      if local == .client { connection?.end("the tunnel is over", tells: true) } else { write() }
    case .hello, .open, .ping, .pong, .farewell: return false
    }
    return true
  }

  private func write() {
    guard !isWriting, !isBroken else { return }
    if waiting.count > 0 {
      swap(&waiting, &writing)
      isWriting = true
      stream.write(writing.bytes)  // may call `wrote`
    } else if outputEnded || connection == nil, !hasEndedWriting {
      hasEndedWriting = true
      stream.endWriting()
      if connection == nil { finish() }
    }
  }

  func wrote() {
    isWriting = false
    ungranted += writing.count
    if writing.capacity > 256 << 10 { writing = ByteBuffer() } else { writing.removeAll() }
    if ungranted >= PeerFrame.window / 4, !outputEnded {
      connection?.send { PeerFrame.writeRoom(ungranted, into: $0) }
      ungranted = 0
    }
    write()
  }

  // MARK: The end

  /// Notes that the connection has ended: writes the data that has arrived, and then closes the socket.
  func connectionEnded() {
    guard connection != nil else { return }
    connection = nil
    deadline = loop.now + limits.stallMilliseconds
    if isBroken { return close() }
    if hasEndedWriting { finish() } else { write() }
  }

  /// Closes the socket after all is written.
  ///
  /// A client's socket is closed only once the client has closed its side, so that it can read the last bytes.
  private func finish() {
    if inputEnded || local == .daemon { return close() }
    deadline = loop.now + limits.lingerMilliseconds
    updateReading()
  }

  private func close() {
    guard !isClosed else { return }
    isClosed = true
    stream.close()
    loop.unwatch(self)
    ended()
  }

  func check(now: UInt64) {
    guard let deadline, now >= deadline else { return }
    self.deadline = nil
    if let connection { connection.end("the tunnel is over", tells: true) } else { close() }
  }

  func shutDown() {
    connection = nil
    close()
  }
}
