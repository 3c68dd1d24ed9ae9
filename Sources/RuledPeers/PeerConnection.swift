internal import RuledCore
internal import RuledIO

/// The user of a connection; all calls come on the loop's thread.
protocol ConnectionOwner: AnyObject {
  /// Both sides have sent `hello`, and the peer's certificate is for `peer`.
  func ready(_ connection: PeerConnection, peer: String)
  /// A frame of a tunnel came; returns false if the peer must not send it now.
  func receive(_ frame: PeerFrame, on connection: PeerConnection) -> Bool
  func ended(_ connection: PeerConnection, reason: String)
}

/// A connection between two nodes: frames over TLS over TCP, confined to the loop.
///
/// It either stays idle, to show that the other node can be reached, or carries the bytes of one client.
final class PeerConnection: StreamOwner, Watched, @unchecked Sendable {  // confined to the loop's thread
  private enum Phase { case connecting, shaking, greeting, ready, closed }

  /// The most bytes that one write encrypts.
  private static let writeBytes = 256 << 10
  private static let recordBytes = 16 << 10

  private let loop: LoopState
  private let stream: StreamSocket
  private let session: TLSSession
  private let settings: PeerSettings
  private let expected: String?
  private weak var owner: (any ConnectionOwner)?
  private var phase = Phase.connecting
  private let started: UInt64

  private var input = ByteBuffer()
  private var output = ByteBuffer()
  /// The bytes of the output that are encrypted already.
  private var encrypted = 0
  /// The ciphertext that the stream is writing.
  private var outgoing = ByteBuffer()
  private var isWriting = false
  private var isQueued = false
  /// Why the connection will end once everything is sent; nil if it will not.
  private var lastReason: String?

  private var lastReceived: UInt64
  private var lastPing: UInt64
  private var lastCheck: UInt64
  private var lastWritten: UInt64
  private var unwritten = 0

  /// A connection over a stream: to the node `expected`, or if it is nil, from a node that has not sent its name yet.
  init(
    on loop: LoopState, _ stream: StreamSocket, _ settings: PeerSettings, to expected: String?,
    owner: any ConnectionOwner
  ) throws(PeerError) {
    guard let session = TLSSession(settings.identity, to: expected) else {
      throw .identity("the name “\(expected ?? "")” can't be checked")
    }
    self.loop = loop
    self.stream = stream
    self.session = session
    self.settings = settings
    self.expected = expected
    self.owner = owner
    started = loop.now
    lastReceived = started
    lastPing = started
    lastCheck = started
    lastWritten = started
    stream.attach(self)
    loop.watch(self)
  }

  /// A connection that begins to connect to the node `node`; nothing happens to it in this tick.
  static func open(
    on loop: LoopState, _ settings: PeerSettings, to node: String, at address: NumericAddress,
    owner: any ConnectionOwner
  ) throws(PeerError) -> PeerConnection {
    let stream: StreamSocket
    do throws(SystemError) { stream = try .connect(on: loop.events, to: address) } catch { throw .system(error) }
    do throws(PeerError) {
      return try PeerConnection(on: loop, stream, settings, to: node, owner: owner)
    } catch {
      stream.close()
      throw error
    }
  }

  /// Begins the handshake on an accepted stream.
  func begin() { connected(nil) }

  // MARK: The stream

  func connected(_ failure: SystemError?) {
    guard phase == .connecting else { return }
    if let failure { return end("\(PeerError.system(failure))") }
    phase = .shaking
    stream.startReading()
    shake()
  }

  func received(_ bytes: ByteView) {
    lastReceived = loop.now
    if case .failed(let why) = session.feed(bytes) { return end(why) }
    if phase == .shaking { shake() }
    if phase == .greeting || phase == .ready { read() }
  }

  func inputDidEnd() { end("the peer has ended the connection") }

  func ended(_ reason: String) { end(reason) }

  func writeFailed(_ reason: String) { end(reason) }

  func wrote() {
    isWriting = false
    lastWritten = loop.now
    Self.empty(&outgoing)
    if unsent > 0 {
      queue()
    } else if let lastReason {
      end(lastReason, tells: true)
    }
  }

  private func shake() {
    let step = session.shake()
    queue()
    switch step {
    case .waits: return
    case .failed(let why): end(why)
    case .ended: end("the peer has ended the handshake")
    case .done:
      phase = .greeting
      if expected != nil { send { PeerFrame.writeHello(name: settings.name, into: $0) } }
    }
  }

  private func read() {
    var step = TLSSession.Step.done
    while step == .done { step = session.read(into: input) }
    takeFrames()
    switch step {
    case .failed(let why): end(why)
    case .ended: end("the peer has ended the connection")
    case .done, .waits: return
    }
  }

  // MARK: Frames

  private func takeFrames() {
    var offset = 0
    while phase != .closed {
      let rest = input.bytes.extracting(offset..<input.count)
      guard let length = PeerFrame.length(rest) else { break }
      let limit = phase == .ready ? PeerFrame.mostBytes : PeerFrame.helloBytes
      guard length <= limit else { return end("the peer has sent a frame of \(length) bytes, of \(limit) at most") }
      guard rest.count >= length else {
        input.reserve(length - rest.count)
        break
      }
      guard let frame = PeerFrame(rest.extracting(0..<length)), take(frame) else {
        return end("the peer has sent bytes that are no frame that may come now", tells: true)
      }
      offset += length
    }
    if offset == input.count { Self.empty(&input) } else { input.removeFirst(offset) }
  }

  /// Handles a frame; returns false if the peer must not send it now.
  private func take(_ frame: PeerFrame) -> Bool {
    switch frame {
    case .hello(let lowest, let highest, let name):
      guard phase == .greeting else { return false }
      greet(lowest: lowest, highest: highest, name: name)
      return true
    case .farewell(let reason):
      end("the peer says: \(reason)")
      return true
    case .ping:
      send(PeerFrame.writePong)
      return phase == .ready
    case .pong: return phase == .ready
    case .open, .data, .room, .end: return phase == .ready && owner?.receive(frame, on: self) == true
    }
  }

  private func greet(lowest: UInt16, highest: UInt16, name: String) {
    let versions = PeerFrame.versions
    guard lowest <= versions.upperBound, highest >= versions.lowerBound else {
      return end(
        "node \(settings.name) speaks versions \(versions), node \(name) \(lowest)...\(highest); upgrade the older one",
        tells: true)
    }
    guard expected == nil || name == expected else { return end("it is node \(name)", tells: true) }
    guard session.isPeer(name) else { return end("the certificate is not for node \(name)", tells: true) }
    if expected == nil { send { PeerFrame.writeHello(name: settings.name, into: $0) } }
    phase = .ready
    owner?.ready(self, peer: name)
  }

  /// The bytes of the output that are not encrypted yet.
  private var unsent: Int { output.count - encrypted }

  /// Lets `body` append frames, which are sent at the end of the tick; does nothing after the end.
  func send(_ body: (ByteBuffer) -> Void) {
    guard phase != .closed else { return }
    body(output)
    queue()
  }

  func endWhenSent(_ reason: String) {
    guard phase != .closed else { return }
    if unsent == 0, !isWriting { return end(reason, tells: true) }
    lastReason = reason
  }

  private func queue() {
    guard !isQueued, phase != .closed else { return }
    isQueued = true
    loop.flushLater(self)
  }

  /// Encrypts and writes the output; called at the end of the tick.
  func flush() {
    isQueued = false
    guard phase != .closed, phase != .connecting, !isWriting else { return }
    if let why = encrypt(upTo: Self.writeBytes) { return end(why) }
    guard outgoing.count > 0 else { return }
    isWriting = true
    lastWritten = loop.now
    unwritten = outgoing.count
    stream.write(outgoing.bytes)  // may call `wrote`
  }

  /// Encrypts about `limit` bytes of the output; returns the reason if that fails.
  private func encrypt(upTo limit: Int) -> String? {
    let end = min(output.count, encrypted + limit)
    while encrypted < end {
      let count = min(Self.recordBytes, end - encrypted)
      if case .failed(let why) = session.write(output.bytes.extracting(encrypted..<encrypted + count)) { return why }
      encrypted += count
    }
    session.takeCiphertext(into: outgoing)
    if encrypted == output.count {
      Self.empty(&output)
      encrypted = 0
    } else if encrypted >= output.count - encrypted {
      output.removeFirst(encrypted)
      encrypted = 0
    }
    return nil
  }

  /// Removes all bytes of a buffer, and the buffer's memory if it is large.
  private static func empty(_ buffer: inout ByteBuffer) {
    if buffer.capacity > 1 << 20 { buffer = ByteBuffer() } else { buffer.removeAll() }
  }

  // MARK: Time

  func check(now: UInt64) {
    let limits = settings.limits
    // If this process was stopped for a while, the peer's time begins again.
    if now - lastCheck > limits.silenceMilliseconds / 2 {
      lastReceived = now
      lastWritten = now
    }
    lastCheck = now
    if phase != .ready, now - started > limits.connectMilliseconds {
      return end("the peer has not said who it is within \(limits.connectMilliseconds) ms")
    }
    if isWriting, stream.unwritten < unwritten {
      unwritten = stream.unwritten
      lastWritten = now
    }
    if isWriting, now - lastWritten > limits.silenceMilliseconds {
      return end("the peer has read nothing for \(limits.silenceMilliseconds) ms")
    }
    guard phase == .ready else { return }
    if now - lastReceived > limits.silenceMilliseconds {
      return end("the peer has been silent for \(limits.silenceMilliseconds) ms")
    }
    if expected != nil, now - lastPing >= limits.keepAliveMilliseconds {
      lastPing = now
      send(PeerFrame.writePing)
    }
  }

  func shutDown() { end("the node stops", tells: true) }

  /// Ends the connection; with `tells`, the peer gets the reason if it can be written at once.
  func end(_ reason: String, tells: Bool = false) {
    guard phase != .closed else { return }
    if tells, phase == .greeting || phase == .ready { PeerFrame.writeFarewell(reason, into: output) }
    if phase != .connecting, !isWriting {
      Self.empty(&outgoing)
      if encrypt(upTo: Self.writeBytes) == nil, phase != .shaking { session.end() }
      session.takeCiphertext(into: outgoing)
      if outgoing.count > 0 { stream.writeNow(outgoing.bytes) }
    }
    phase = .closed
    stream.close()
    loop.unwatch(self)
    owner?.ended(self, reason: reason)
  }
}
