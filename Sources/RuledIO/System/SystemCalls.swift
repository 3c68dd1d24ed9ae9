internal import CUV
internal import Glibc
package import RuledCore

/// System calls that retry when a signal interrupts them and report why they failed.
///
/// A bad descriptor or a bad address is a broken invariant of this program and traps.
package enum SystemCalls {
  /// The result of a read or write that does not block.
  package enum Transfer: Equatable {
    case moved(Int)
    case wouldBlock
    /// The peer has ended its side.
    case ended
    /// The call failed with this error number.
    case failed(Int32)
  }

  /// Runs `body` until no signal interrupts it.
  ///
  /// Returns its value, or the error number when the value is negative.
  @inline(__always)
  package static func retrying<Value: SignedInteger>(_ body: () -> Value) -> (value: Value, number: Int32) {
    while true {
      let value = body()
      if value >= 0 { return (value, 0) }
      let number = errno
      if number == EINTR { continue }
      precondition(number != EBADF && number != EFAULT, "system call on a bad descriptor or address")
      return (value, number)
    }
  }

  /// Runs `body` until no signal interrupts it; throws when its value is negative.
  @discardableResult
  package static func check<Value: SignedInteger>(
    _ call: String, _ context: @autoclosure () -> String, _ body: () -> Value
  ) throws(SystemError) -> Value {
    let (value, number) = retrying(body)
    guard number == 0 else { throw SystemError(number, call: call, context: context()) }
    return value
  }

  /// The kind of the sockets made here: of streams, non-blocking and closed on exec.
  private static let streamKind =
    Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

  /// A socket of a family such as `AF_UNIX`: socket(2).
  package static func streamSocket(_ family: Int32, _ context: String) throws(SystemError) -> OwnedDescriptor {
    OwnedDescriptor(owning: try check("socket", context) { socket(family, streamKind, 0) })
  }

  /// Two connected sockets: socketpair(2).
  package static func socketPair(_ context: String) throws(SystemError) -> (near: Int32, far: Int32) {
    var pair: [Int32] = [-1, -1]
    try check("socketpair", context) { socketpair(AF_UNIX, streamKind, 0, &pair) }
    return (pair[0], pair[1])
  }

  // MARK: Transfers

  /// Reads the available bytes that fit behind the bytes of `span`, without blocking: recv(2).
  package static func receive(_ descriptor: Int32, into span: inout OutputRawSpan) -> Transfer {
    span.withUnsafeMutableBytes { memory, count in
      let free = UnsafeMutableRawBufferPointer(rebasing: memory[count...])
      let transfer = receive(descriptor, into: free, flags: Int32(MSG_DONTWAIT))
      if case .moved(let moved) = transfer { count += moved }
      return transfer
    }
  }

  /// Whether both sides of a connection are closed: poll(2).
  static func hasHungUp(_ descriptor: Int32) -> Bool {
    var state = pollfd(fd: descriptor, events: 0, revents: 0)
    return retrying { poll(&state, 1, 0) }.value == 1 && state.revents & Int16(POLLHUP) != 0
  }

  /// Copies the first available byte and leaves it unread, without blocking: recv(2).
  static func peek(_ descriptor: Int32, _ first: inout UInt8) -> Transfer {
    withUnsafeMutableBytes(of: &first) { receive(descriptor, into: $0, flags: Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) }
  }

  private static func receive(
    _ descriptor: Int32, into memory: UnsafeMutableRawBufferPointer, flags: Int32
  ) -> Transfer {
    let (moved, number) = retrying { recv(descriptor, memory.baseAddress, memory.count, flags) }
    if number == 0 { return moved == 0 ? .ended : .moved(moved) }
    return number == EAGAIN || number == EWOULDBLOCK ? .wouldBlock : .failed(number)
  }

  /// Writes as many bytes as fit, without blocking and without SIGPIPE: send(2).
  package static func send(_ descriptor: Int32, _ bytes: ByteView) -> Transfer {
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    let (moved, number) = retrying { Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags) }
    if number == 0 { return .moved(moved) }
    return number == EAGAIN || number == EWOULDBLOCK ? .wouldBlock : .failed(number)
  }

  /// Ends the writing side of a socket: shutdown(2).
  ///
  /// The peer sees the end, and its bytes can still be read.
  package static func endWriting(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  /// Closes a descriptor: close(2).
  ///
  /// Linux has closed it even when the call reports an interruption.
  package static func close(_ descriptor: Int32) {
    let status = Glibc.close(descriptor)
    precondition(status == 0 || errno != EBADF, "close of a descriptor that is not open")
  }

  /// Makes a write to a closed peer, or beyond the largest file size, fail instead of ending the process.
  package static func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
    _ = signal(SIGXFSZ, SIG_IGN)
  }

  // MARK: Options

  /// Sets O_NONBLOCK and FD_CLOEXEC on a descriptor from elsewhere: fcntl(2).
  static func adopt(_ descriptor: Int32, _ context: String) throws(SystemError) {
    let status = try check("fcntl", context) { fcntl(descriptor, F_GETFL) }
    try check("fcntl", context) { fcntl(descriptor, F_SETFL, status | O_NONBLOCK) }
    try check("fcntl", context) { fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
  }

  /// Makes a TCP socket send small pieces at once: TCP_NODELAY.
  ///
  /// Has no effect on other sockets.
  package static func sendAtOnce(_ descriptor: Int32) {
    var yes: Int32 = 1
    _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The socket option that reads and clears a pending error.
  static var pendingErrorOption: Int32 { SO_ERROR }

  /// A socket option with one integer: getsockopt(2).
  ///
  /// Nil if the descriptor has none.
  static func socketOption(_ descriptor: Int32, _ option: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    let (_, number) = retrying { getsockopt(descriptor, SOL_SOCKET, option, &value, &length) }
    return number == 0 ? value : nil
  }
}

/// A descriptor with one owner, closed when the owner is destroyed.
package struct OwnedDescriptor: ~Copyable {
  /// The number; valid as long as the owner lives.
  package let number: Int32

  init(owning number: Int32) { self.number = number }

  deinit { SystemCalls.close(number) }

  /// Gives the descriptor away without closing it.
  package consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }
}
