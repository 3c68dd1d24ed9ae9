import CUV
import Glibc
import TestSupport
import Testing

@testable import RuledIO

@Suite struct SystemdNotifierTests {
  private let folder = TemporaryFolder()

  /// What a notifier sends to the address, one string a datagram.
  private func messages(_ path: String, _ body: (SystemdNotifier) -> Void) throws -> [String] {
    let address = try #require(UnixAddress(path))
    let descriptor = OwnedDescriptor(owning: socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0))
    let number = descriptor.number
    #expect(address.withSockaddr { bind(number, $0, $1) } == 0)
    body(SystemdNotifier(socket: path, watchdogMicroseconds: "30000000", watchdogPID: "5", pid: 5))
    var messages: [String] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      guard count >= 0 else { break }
      messages.append(String(decoding: buffer[..<count], as: UTF8.self))
    }
    _ = consume descriptor
    return messages
  }

  @Test(arguments: [false, true])
  func `each state is one datagram`(isAbstract: Bool) throws {
    let path = isAbstract ? "@" + folder("n") : folder("n")
    let sent = try messages(path) {
      $0.reloading()
      $0.ready(status: "3 rules,\nrevision b1946ac9")
      $0.status("degraded")
      $0.watchdog()
      $0.stopping()
    }
    #expect(sent.first?.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") == true)
    #expect(
      sent.dropFirst() == [
        "READY=1\nSTATUS=3 rules, revision b1946ac9", "STATUS=degraded", "WATCHDOG=1", "STOPPING=1",
      ])
  }

  @Test func `a systemd that reads nothing stops nobody`() throws {
    let path = folder("n")
    let address = try #require(UnixAddress(path))
    func fill() -> Bool {
      let sender = OwnedDescriptor(owning: socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0))
      let number = sender.number
      return address.withSockaddr { sendto(number, "full", 4, Int32(MSG_DONTWAIT), $0, $1) } == 4
    }
    let sent = try messages(path) {
      while fill() {}
      $0.watchdog()
    }
    #expect(!sent.isEmpty && Set(sent) == ["full"])
  }

  @Test func `the watchdog is only for its process`() {
    func period(_ pid: String?) -> UInt64? {
      SystemdNotifier(socket: nil, watchdogMicroseconds: "30000000", watchdogPID: pid, pid: 5).watchdogMilliseconds
    }
    #expect(period("5") == 30_000)
    #expect(period(nil) == 30_000)
    #expect(period("6") == nil)
  }

  @Test func `a notification that nobody receives is dropped, and the next one arrives`() throws {
    let notifier = SystemdNotifier(socket: folder("n"), watchdogMicroseconds: nil, watchdogPID: nil, pid: 5)
    notifier.watchdog()
    #expect(try messages(folder("n")) { _ in notifier.stopping() } == ["STOPPING=1"])
    #expect(try messages(folder("m")) { _ in SystemdNotifier.silent.stopping() } == [])
  }
}
