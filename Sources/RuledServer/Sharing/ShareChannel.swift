import RuledCore
import RuledEngine
import RuledPeers

/// Sends and receives frames over a connection, confined to a loop.
///
/// What is sent gathers, and is written at the end of the tick. Frames are received in order, each as soon as it is whole. An open channel keeps itself alive.
final class ShareChannel {
  /// How often is read at most in one tick, and from how many bytes on there may be more to read at once.
  private static let (mostReads, manyBytes) = (16, 128 << 10)
  /// The size in bytes from which on no further request or reply is added to a frame.
  private static let fullBytes = 1 << 20
  /// The most bytes that an empty buffer keeps.
  private static let mostKeptBytes = 4 << 20

  private let loop: EventLoop
  private let senders: MessageSenders
  /// The most bytes of a frame.
  private let mostBytes: Int
  private var receive: ((ShareFrame) -> Void)?
  private var ended: ((String) -> Void)?
  private var socket: (any ShareSocket)?
  private var poll: DescriptorPoll?

  /// When bytes came last, in nanoseconds of the monotonic clock.
  private(set) var lastInput = MonotonicClock.nanoseconds
  /// What was received and is no whole frame yet.
  private var input = ByteBuffer(capacity: 64 << 10)
  private var output = ByteBuffer(capacity: 64 << 10)
  /// How many bytes of the output are written.
  private var sent = 0
  /// The last frame of the output, if it can still take items.
  private var growing: (kind: ShareFrame.Kind, start: Int)?
  /// Whether the output is written at the end of this tick.
  private var isQueued = false
  /// Whether the socket took less than there was.
  private var isBlocked = false
  /// Whether the channel will end in the next tick, so that nothing more is sent.
  private var isFailing = false

  /// A channel over a socket.
  ///
  /// `ended` is called once, with the reason, unless `close` ends the channel; no frame is received after that. It is never called from within a method
  /// of the channel. `senders` count the messages of submissions that are received.
  init(
    on loop: EventLoop, _ socket: any ShareSocket, senders: MessageSenders, mostBytes: Int = ShareFrame.mostBytes,
    receive: @escaping (ShareFrame) -> Void,
    ended: @escaping (String) -> Void
  ) throws(SystemError) {
    self.loop = loop
    self.senders = senders
    self.mostBytes = mostBytes
    self.receive = receive
    self.ended = ended
    poll = try DescriptorPoll(on: loop, socket.descriptor) { [self] events in handle(events) }
    self.socket = socket
    updateInterest()
    if socket.hasInput { loop.onNextTick { [self] in read() } }
  }

  /// Whether the channel has neither ended nor been closed.
  var isOpen: Bool { socket != nil }

  // MARK: Sending

  /// How many bytes wait to be written.
  var unsent: Int { output.count - sent }

  /// Sends a frame; does nothing after the end.
  func send(_ frame: ShareFrame) {
    guard isOpen, !isFailing else { return }
    endGrowing()
    let start = output.count
    frame.write(into: output)
    checkSize(from: start)
    queue()
  }

  /// Sends a request in a frame of that kind, in one with those right before it.
  func send(_ request: SharedRequest, in kind: ShareFrame.Kind = .requests) { grow(kind) { request.write(into: $0) } }

  /// Sends a reply in a frame of that kind, in one with those right before it.
  func send(reply: ByteView, to number: UInt64, in kind: ShareFrame.Kind = .replies) {
    grow(kind) { ShareFrame.writeReply(reply, to: number, into: $0) }
  }

  private func grow(_ kind: ShareFrame.Kind, _ body: (ByteBuffer) -> Void) {
    guard isOpen, !isFailing else { return }
    if let growing, growing.kind != kind || output.count - growing.start > Self.fullBytes { endGrowing() }
    guard !isFailing else { return }
    if growing == nil { growing = (kind, ShareFrame.begin(kind, in: output)) }
    body(output)
    queue()
  }

  private func endGrowing() {
    guard let (_, start) = growing else { return }
    growing = nil
    ShareFrame.end(from: start, in: output)
    checkSize(from: start)
  }

  /// Ends the channel if the frame that begins at `start` is too large.
  private func checkSize(from start: Int) {
    let count = output.count - start
    guard count > mostBytes else { return }
    output.truncate(to: start)
    fail("a frame of \(count) bytes can't be sent, \(mostBytes) are allowed")
  }

  private func queue() {
    guard !isQueued, !isBlocked else { return }
    isQueued = true
    loop.onceAtTickEnd { [self] in
      isQueued = false
      flush()
    }
  }

  /// Writes as much as the socket takes; called at the end of each tick with output.
  func flush() {
    guard let socket, !isFailing else { return }
    endGrowing()
    guard unsent > 0 || socket.hasUnsent, !isFailing else { return }
    switch unsent > 0 ? socket.send(output.bytes.extracting(sent...)) : socket.flush() {
    case .moved(let count): sent += count
    case .wouldBlock: break
    case .ended: return fail("the connection can't be written")
    case .failed(let why): return fail("the connection can't be written: \(why)")
    }
    compactOutput()
    isBlocked = unsent > 0 || socket.hasUnsent
    updateInterest()
  }

  /// Removes the bytes that are written once they are more than the others, so that the cost stays linear.
  private func compactOutput() {
    if unsent == 0 {
      Self.empty(&output)
      sent = 0
    } else if sent >= unsent {
      output.removeFirst(sent)
      sent = 0
    }
  }

  private static func empty(_ buffer: inout ByteBuffer) {
    if buffer.capacity > mostKeptBytes { buffer = ByteBuffer(capacity: 64 << 10) } else { buffer.removeAll() }
  }

  // MARK: Receiving

  private func handle(_ events: DescriptorPoll.Events) {
    if events.contains(.failed) {
      readRest()
      return end("the connection has failed")
    }
    if events.contains(.writable) {
      isBlocked = false
      flush()
    }
    if events.contains(.readable) { read() }
  }

  private func updateInterest() { poll?.wait(for: isBlocked ? [.readable, .writable] : .readable) }

  private func read() {
    for _ in 0..<Self.mostReads {
      guard let count = readOnce(), count >= Self.manyBytes else { return }
    }
  }

  /// Reads all that is there, for a connection that can't be written any more.
  private func readRest() { while readOnce() != nil {} }

  /// Reads once and delivers the frames that became whole; returns the number of bytes, or nil if there is nothing more.
  private func readOnce() -> Int? {
    guard let socket else { return nil }
    switch socket.receive(into: input) {
    case .moved(let count):
      lastInput = MonotonicClock.nanoseconds
      deliver()
      return count
    case .wouldBlock: break
    case .ended: end("the peer has ended the connection")
    case .failed(let why): end("the connection broke: \(why)")
    }
    return nil
  }

  private func deliver() {
    var offset = 0
    while let receive {
      let rest = input.bytes.extracting(offset..<input.count)
      guard let length = ShareFrame.length(rest) else { break }
      guard length <= mostBytes else {
        return end("the peer has sent a frame of \(length) bytes, \(mostBytes) are allowed", tells: true)
      }
      guard rest.count >= length else { break }
      offset += length
      let bytes = rest.extracting(0..<length)
      switch ShareFrame(bytes, senders: senders) {
      case .farewell(let reason)?: return end("the peer says: \(reason)")
      case let frame?: receive(frame)
      case nil: return end(ShareFrame.refusal(of: bytes), tells: true)
      }
    }
    if offset == input.count { Self.empty(&input) } else { input.removeFirst(offset) }
  }

  // MARK: The end

  /// Sends what waits and a farewell with the reason, as far as they can be written at once, and ends the channel.
  func close(_ reason: String) {
    tell(reason)
    finish()
  }

  private func tell(_ reason: String) {
    guard isOpen, !isFailing else { return }
    send(.farewell(reason))
    flush()
  }

  /// Ends the channel in the next tick, after frames that came already.
  private func fail(_ reason: String) {
    guard !isFailing else { return }
    isFailing = true
    growing = nil
    output.removeAll()
    sent = 0
    isBlocked = false
    updateInterest()
    loop.onNextTick { [self] in
      readRest()
      end(reason)
    }
  }

  private func end(_ reason: String, tells: Bool = false) {
    guard isOpen else { return }
    if tells { tell(reason) }
    let ended = ended
    finish()
    ended?(reason)
  }

  /// Closes the socket and drops the closures, so that nothing more is received.
  private func finish() {
    guard let socket else { return }
    poll?.close()
    poll = nil
    socket.close()
    self.socket = nil
    receive = nil
    ended = nil
  }
}
