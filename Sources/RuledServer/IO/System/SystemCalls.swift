internal import CUV
internal import Glibc

/// System calls that retry when a signal interrupts them and say why they failed.
///
/// A bad descriptor or a bad address is a broken invariant of this program and traps.
package enum SystemCalls {
  /// What became of a read or write that does not block.
  package enum Transfer: Equatable {
    /// So many bytes went over.
    case moved(Int)
    /// Nothing could be moved now.
    case wouldBlock
    /// The peer has ended its side.
    case ended
    /// The call failed with this error number.
    case failed(Int32)
  }

  /// Runs `body` until no signal interrupts it; returns its value, or the error number when that is negative.
  @inline(__always)
  static func retrying<Value: SignedInteger>(_ body: () -> Value) -> (value: Value, number: Int32) {
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
  static func check<Value: SignedInteger>(
    _ call: String, _ context: @autoclosure () -> String, _ body: () -> Value
  ) throws(SystemError) -> Value {
    let (value, number) = retrying(body)
    guard number == 0 else { throw SystemError(number, call: call, context: context()) }
    return value
  }

  /// Reads what is there, without blocking: recv(2).
  package static func receive(
    _ descriptor: Int32, into space: UnsafeMutableRawBufferPointer, peek: Bool = false
  ) -> Transfer {
    let flags = Int32(MSG_DONTWAIT) | (peek ? Int32(MSG_PEEK) : 0)
    let (moved, number) = retrying { recv(descriptor, space.baseAddress, space.count, flags) }
    if number == 0 { return moved == 0 ? .ended : .moved(moved) }
    return number == EAGAIN || number == EWOULDBLOCK ? .wouldBlock : .failed(number)
  }

  /// Writes what fits, without blocking and without SIGPIPE: send(2).
  package static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    let (moved, number) = retrying { Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags) }
    if number == 0 { return .moved(moved) }
    return number == EAGAIN || number == EWOULDBLOCK ? .wouldBlock : .failed(number)
  }

  /// Ends the writing side of a socket: the peer sees the end, and what it sends can still be read.
  static func endWriting(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  /// Has a TCP socket send small pieces without waiting for more; nothing on other sockets.
  static func sendAtOnce(_ descriptor: Int32) {
    var yes: Int32 = 1
    _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Closes a descriptor; Linux has closed it even when it reports an interruption.
  package static func close(_ descriptor: Int32) {
    let status = Glibc.close(descriptor)
    precondition(status == 0 || errno != EBADF, "close of a descriptor that is not open")
  }

  /// Makes a write to a closed peer an error of that write instead of the end of the process.
  package static func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
    _ = signal(SIGXFSZ, SIG_IGN)
  }

  /// The socket option that reads and clears a pending error.
  static var pendingErrorOption: Int32 { SO_ERROR }

  /// Sets O_NONBLOCK and FD_CLOEXEC on a descriptor that was made elsewhere.
  static func adopt(_ descriptor: Int32, _ context: String) throws(SystemError) {
    let status = try check("fcntl", context) { fcntl(descriptor, F_GETFL) }
    try check("fcntl", context) { fcntl(descriptor, F_SETFL, status | O_NONBLOCK) }
    try check("fcntl", context) { fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
  }

  /// Whether a socket is a Unix one.
  static func isUnixSocket(_ descriptor: Int32) -> Bool { socketOption(descriptor, SO_DOMAIN) == AF_UNIX }

  /// A socket option that is one integer, or nil where the descriptor has none.
  static func socketOption(_ descriptor: Int32, _ option: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    let (_, number) = retrying { getsockopt(descriptor, SOL_SOCKET, option, &value, &length) }
    return number == 0 ? value : nil
  }
}
