import Glibc
import RuledCore
import RuledPeers
import RuledWire

/// A client of a node that follows, which speaks HTTP: the head of its first request tells whether the node answers itself or the owner does; confined
/// to a loop.
final class ForwardedWeb {
  /// What the head of the first request asks for.
  enum Decision {
    /// The node answers itself, and closes the connection.
    case answer(HTTPResponse)
    /// The owner gets the connection.
    case carry
  }

  /// How long a head may take to arrive, and how long a client may take to close its side after the answer, in milliseconds.
  private static let headTime: UInt64 = 60_000
  private static let lingerTime: UInt64 = 2_000

  private let socket: Int32
  private let loop: EventLoop
  private let reader = HTTPRequestReader(bodyLimit: 0)
  private let input = ByteBuffer(capacity: 1024)
  private var poll: DescriptorPoll?
  private var deadline: UInt64
  private var isLingering = false
  private let decide: (HTTPRequestHead) -> Decision
  private let carry: (Int32, [UInt8]) -> Void
  private let ended: (ForwardedWeb) -> Void

  /// A client's connection, which it owns unless this throws.
  ///
  /// `carry` gets the socket if the owner is to answer, with what was read from it; `ended` is called once in any case.
  init(
    _ socket: Int32, on loop: EventLoop, decide: @escaping (HTTPRequestHead) -> Decision,
    carry: @escaping (Int32, [UInt8]) -> Void, ended: @escaping (ForwardedWeb) -> Void
  ) throws(SystemError) {
    self.socket = socket
    self.loop = loop
    self.decide = decide
    self.carry = carry
    self.ended = ended
    deadline = loop.now + Self.headTime
    poll = try DescriptorPoll(on: loop, socket) { [unowned self] _ in receive() }
    poll?.wait(for: .readable)
  }

  /// Closes the connection if it takes too long.
  func checkTime() { if loop.now >= deadline { close() } }

  /// Closes the connection at once.
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
    } catch { return handOver() }  // the owner answers what is no request, and what a proxy begins with
    switch decide(reader.head) {
    case .answer(let response):
      let options = HTTPResponse.Options(omitsBody: reader.head.method == "HEAD", closesConnection: true)
      answer(response, options)
    case .carry: handOver()
    }
  }

  private func handOver() {
    poll?.close()
    poll = nil
    carry(socket, Array(input.bytes))
    ended(self)
  }

  private func answer(_ response: HTTPResponse, _ options: HTTPResponse.Options) {
    Self.send(response, options, on: socket)
    isLingering = true
    deadline = loop.now + Self.lingerTime
    input.removeAll()
  }

  /// Sends a response that the system takes at once, and ends the writing side.
  static func send(_ response: HTTPResponse, _ options: HTTPResponse.Options = .init(), on socket: Int32) {
    let buffer = ByteBuffer(capacity: 1024)
    response.write(options, to: buffer)
    _ = SystemCalls.send(socket, buffer.bytes)
    SystemCalls.endWriting(socket)
  }
}
