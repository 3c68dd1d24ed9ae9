internal import Glibc
internal import RuledCore

/// Reports the service's state to systemd by the protocol of sd_notify(3); has no effect if systemd did not ask for it.
package struct SystemdNotifier: Sendable {
  private let address: UnixAddress?
  /// The period in milliseconds within which systemd expects `watchdog`, or nil without a watchdog.
  let watchdogMilliseconds: UInt64?

  /// Whether systemd has started the process and waits to hear of it; to be asked before `fromEnvironment`.
  package static var isService: Bool { getenv("NOTIFY_SOCKET") != nil }

  /// Reads NOTIFY_SOCKET and the watchdog's variables and removes them.
  ///
  /// To be called once, before other threads run.
  package static func fromEnvironment() -> SystemdNotifier {
    SystemdNotifier(
      socket: SocketActivation.takeVariable("NOTIFY_SOCKET"),
      watchdogMicroseconds: SocketActivation.takeVariable("WATCHDOG_USEC"),
      watchdogPID: SocketActivation.takeVariable("WATCHDOG_PID"), pid: getpid())
  }

  package static let silent = SystemdNotifier(socket: nil, watchdogMicroseconds: nil, watchdogPID: nil, pid: 0)

  /// A notifier from the values of the environment variables, for the process `pid`.
  init(socket: String?, watchdogMicroseconds: String?, watchdogPID: String?, pid: Int32) {
    address = socket.flatMap { UnixAddress($0) }
    let isOurs = watchdogPID.map { Int32($0) == pid } ?? true
    let period = watchdogMicroseconds.flatMap { UInt64($0) }
    watchdogMilliseconds = isOurs ? period.map { max(1, $0 / 1000) } : nil
  }

  /// The service has started, or ended a reload.
  package func ready(status: String) { send("READY=1\nSTATUS=\(Self.line(status))") }

  /// The service reads its configuration and rules again, until `ready`.
  package func reloading() { send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.nanoseconds / 1000)") }

  /// The start or reload takes up to 30 seconds from now.
  package func extendTimeout() { send("EXTEND_TIMEOUT_USEC=30000000") }

  package func status(_ text: String) { send("STATUS=\(Self.line(text))") }

  package func watchdog() { send("WATCHDOG=1") }

  /// Calls `body` on a loop twice in the watchdog's period; nil if systemd has asked for no watchdog.
  package func watchdogTimer(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) -> LoopTimer? {
    guard let period = watchdogMilliseconds else { return nil }
    return try loop.timer(after: 1, every: max(1, period / 2), body)
  }

  package func stopping() { send("STOPPING=1") }

  private static func line(_ text: String) -> String {
    text.utf8.map { $0 < 0x20 ? 0x20 : $0 }.text
  }

  /// Sends one datagram, for which systemd has a second to make room.
  ///
  /// A failure is ignored: the service can do without.
  private func send(_ message: String) {
    guard let address else { return }
    let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let (number, failure) = SystemCalls.retrying { socket(AF_UNIX, kind, 0) }
    guard failure == 0 else { return }
    let descriptor = OwnedDescriptor(owning: number)
    var patience = timeval(tv_sec: 1, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var message = message
    message.withUTF8 { bytes in
      _ = SystemCalls.retrying {
        address.withSockaddr { sendto(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL), $0, $1) }
      }
    }
    _ = consume descriptor
  }
}
