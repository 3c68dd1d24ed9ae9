internal import CUV
internal import Glibc

/// Accepts connections on one loop and passes each descriptor on, non-blocking and closed on exec.
///
/// When descriptors or memory run out, accepting pauses for 100 milliseconds; connections wait in the kernel's queue meanwhile.
package final class Listener {
  /// How long accepting pauses when descriptors have run out, in milliseconds.
  static let pause: UInt64 = 100

  private let loop: EventLoop
  private var socket: ListeningSocket?
  private var poll: DescriptorPoll?
  private var retry: LoopTimer?
  private let accepted: (Int32) -> Void

  private(set) var isPaused = false

  /// Starts accepting.
  ///
  /// `accepted` gets the ownership of each descriptor.
  package init(
    on loop: EventLoop, _ socket: consuming ListeningSocket, accepted: @escaping (Int32) -> Void
  ) throws(SystemError) {
    let descriptor = socket.descriptor
    self.loop = loop
    self.socket = consume socket
    self.accepted = accepted
    poll = try DescriptorPoll(on: loop, descriptor) { [self] _ in accept() }
    retry = try LoopTimer(on: loop) { [self] in
      isPaused = false
      poll?.wait(for: .readable)
    }
    poll?.wait(for: .readable)
  }

  /// Stops accepting and closes the socket; the kernel refuses connections that still wait in its queue.
  package func stop() {
    poll?.close()
    retry?.close()
    poll = nil
    retry = nil
    socket = nil
  }

  /// Accepts up to 64 connections, so that a flood of them does not starve the open ones.
  private func accept() {
    for _ in 0..<64 {
      guard let descriptor = socket?.descriptor else { return }
      let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
      let (connection, number) = SystemCalls.retrying { ruled_accept4(descriptor, nil, nil, flags) }
      switch number {
      case 0: accepted(connection)
      case ECONNABORTED, EPROTO: continue
      case EAGAIN: return
      default:
        isPaused = true
        poll?.wait(for: [])
        retry?.start(after: Self.pause)
        return
      }
    }
  }
}
