internal import Glibc
package import RuledCore

/// The user of a stream; all calls come on the loop's thread.
package protocol StreamOwner: AnyObject {
  func connected(_ failure: SystemError?)
  /// Bytes came; they are valid during the call.
  func received(_ bytes: ByteView)
  /// The system has accepted the bytes given to `write`.
  func wrote()
  /// The peer has closed its side: nothing more comes.
  func inputDidEnd()
  func ended(_ reason: String)
  /// Nothing can be written any more; earlier bytes of the peer can still be read.
  func writeFailed(_ reason: String)
}

/// A stream of bytes over a socket of any kind, confined to its loop.
///
/// An open stream keeps itself and its owner alive. After `close`, the owner gets no more calls.
package final class StreamSocket {
  /// The most bytes of one read, whatever `readLimit` says.
  private static let readBytes = 256 << 10

  private let loop: EventLoop
  private let descriptor: Int32
  private var poll: DescriptorPoll?
  private var owner: (any StreamOwner)?
  private var isConnecting = false
  private var isReading = false
  /// The bytes of the write that the system has not accepted yet.
  private var rest = ByteView.empty
  package var readLimit = Int.max

  /// A stream over a connected socket, which it owns unless this throws.
  package init(on loop: EventLoop, _ descriptor: Int32) throws(SystemError) {
    self.loop = loop
    self.descriptor = descriptor
    poll = try DescriptorPoll(on: loop, descriptor) { [self] events in ready(events) }
  }

  /// Begins to connect; `connected` is called later.
  package static func connect(on loop: EventLoop, to address: NumericAddress) throws(SystemError) -> StreamSocket {
    let socket = try address.makeSocket()
    SystemCalls.sendAtOnce(socket.number)
    let (_, number) = SystemCalls.retrying { address.withSockaddr { Glibc.connect(socket.number, $0, $1) } }
    guard number == 0 || number == EINPROGRESS else {
      throw SystemError(number, call: "connect", context: address.description)
    }
    let stream = try StreamSocket(on: loop, socket.number)
    _ = socket.release()
    stream.isConnecting = true
    stream.updateInterest()
    return stream
  }

  package func attach(_ owner: any StreamOwner) { self.owner = owner }

  package var peer: NumericAddress? { NumericAddress(of: descriptor, isPeer: true) }

  package func startReading() {
    isReading = true
    updateInterest()
  }

  /// Leaves further input in the system's buffers.
  package func stopReading() {
    isReading = false
    updateInterest()
  }

  /// Writes bytes, which must not change until `wrote` is called, at once if the system takes all of them; one write at a time.
  package func write(_ bytes: ByteView) {
    rest = bytes.extracting(writeNow(bytes)...)
    if rest.isEmpty { owner?.wrote() } else { updateInterest() }
  }

  /// Writes as much as the system accepts at once; returns the number of bytes.
  @discardableResult
  package func writeNow(_ bytes: ByteView) -> Int {
    if case .moved(let count) = SystemCalls.send(descriptor, bytes) { count } else { 0 }
  }

  package var unwritten: Int { rest.count }

  package func endWriting() { SystemCalls.endWriting(descriptor) }

  /// Closes the stream; the owner gets no more calls.
  package func close() {
    guard let poll else { return }
    self.poll = nil
    owner = nil
    poll.close()
    SystemCalls.close(descriptor)
  }

  // MARK: Events

  /// After an error both directions are tried, which gives its reason; the poll has stopped and begins again while either is wanted.
  private func ready(_ events: DescriptorPoll.Events) {
    if isConnecting {
      isConnecting = false
      let number = SystemCalls.socketOption(descriptor, SystemCalls.pendingErrorOption) ?? 0
      owner?.connected(number == 0 ? nil : SystemError(number, call: "connect", context: "socket"))
    } else {
      let hasFailed = events.contains(.failed)
      if !rest.isEmpty, hasFailed || events.contains(.writable) { writeRest() }
      if poll != nil, isReading, hasFailed || events.contains(.readable) { read() }
    }
    updateInterest()
  }

  private func writeRest() {
    switch SystemCalls.send(descriptor, rest) {
    case .moved(let count):
      rest = rest.extracting(count...)
      if rest.isEmpty { owner?.wrote() }
    case .failed(let number):
      rest = .empty
      owner?.writeFailed(SystemError.text(of: number))
    case .wouldBlock, .ended: break
    }
  }

  private func read() {
    let input = loop.scratch
    input.removeAll()
    let limit = min(readLimit, Self.readBytes)
    switch input.append(upTo: limit, { SystemCalls.receive(descriptor, into: &$0) }) {
    case .moved: owner?.received(input.bytes)
    case .wouldBlock: break
    case .ended:
      isReading = false
      owner?.inputDidEnd()
    case .failed(let number):
      isReading = false
      owner?.ended(SystemError.text(of: number))
    }
  }

  private func updateInterest() {
    var events: DescriptorPoll.Events = []
    if isReading, !isConnecting { events.insert(.readable) }
    if isConnecting || !rest.isEmpty { events.insert(.writable) }
    poll?.wait(for: events)
  }
}
