import RuledCore
import RuledIO
import RuledServing
import RuledWire

/// A client of a follower that speaks HTTP, confined to a loop.
///
/// The head of its first request decides whether this node answers it, or the connection is carried to the owner.
final class ForwardedWeb {
  /// How long the head may take to arrive, and how long the client may take to close its side after the answer, in milliseconds.
  private static let headTime: UInt64 = 60_000
  private static let lingerTime: UInt64 = 2_000

  private let socket: Int32
  private let loop: EventLoop
  private let reader = HTTPRequestReader(bodyLimit: 0)
  private let input = ByteBuffer(capacity: 1024)
  private var poll: DescriptorPoll?
  private var deadline: UInt64
  private var isLingering = false
  private let answer: (HTTPRequestHead) -> HTTPResponse?
  private let carry: (Int32, [UInt8]) -> Void
  private let ended: (ForwardedWeb) -> Void

  /// A client's connection, which it owns unless this throws.
  ///
  /// `answer` gives this node's response to the first request, after which the connection is closed; nil if it is to be carried. Then `carry` gets the
  /// socket, and the bytes read from it. `ended` is called once in any case.
  init(
    _ socket: Int32, on loop: EventLoop, answer: @escaping (HTTPRequestHead) -> HTTPResponse?,
    carry: @escaping (Int32, [UInt8]) -> Void, ended: @escaping (ForwardedWeb) -> Void
  ) throws(SystemError) {
    self.socket = socket
    self.loop = loop
    self.answer = answer
    self.carry = carry
    self.ended = ended
    deadline = loop.now + Self.headTime
    poll = try DescriptorPoll(on: loop, socket) { [unowned self] _ in receive() }
    poll?.wait(for: .readable)
  }

  func checkTime() { if loop.now >= deadline { close() } }

  func close() {
    guard let poll else { return }
    poll.close()
    self.poll = nil
    SystemCalls.close(socket)
    ended(self)
  }

  private func receive() {
    guard poll != nil else { return }
    var offset = input.count
    switch input.append(upTo: 16 << 10, { SystemCalls.receive(socket, into: &$0) }) {
    case .moved where isLingering: input.removeAll()
    case .moved: readHead(from: &offset)
    case .wouldBlock: break
    case .ended, .failed: close()
    }
  }

  private func readHead(from offset: inout Int) {
    do throws(HTTPError) {
      guard try reader.read(input.bytes, from: &offset) != .incomplete else { return }
    } catch { return handOver() }  // the owner answers malformed requests, and reads lines of the PROXY protocol
    guard let response = answer(reader.head) else { return handOver() }
    response.sendLast(omitsBody: reader.head.method == "HEAD", on: socket)
    isLingering = true
    deadline = loop.now + Self.lingerTime
    input.removeAll()
  }

  private func handOver() {
    poll?.close()
    poll = nil
    carry(socket, Array(input.bytes))
    ended(self)
  }
}
