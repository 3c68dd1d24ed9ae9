import CUV
import Glibc
import IOTestSupport
import TestSupport
import Testing

@testable import RuledIO

@Suite struct DescriptorExhaustionTests {
  @Test func `without free descriptors accepting pauses, and resumes later`() async {
    await #expect(processExitsWith: .success) {
      let folder = TemporaryFolder()
      let path = folder("s")
      let server = try EchoServer()
      let listener = Confined<Listener>()
      server.thread.call { loop in
        listener.value = try? Listener(on: loop, ListeningSocket(path: path)) { server.adopt($0) }
      }
      let first = try #require(Client(path: path))
      first.send("[1]\n")
      precondition(first.receive(lines: 1) == "[1]\n")
      let late = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      var fillers: [Int32] = []
      var limit = rlimit(rlim_cur: UInt(late) + 10, rlim_max: UInt(late) + 10)
      precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
      while case let filler = dup(0), filler >= 0 { fillers.append(filler) }
      let address = try #require(UnixAddress(path))
      precondition(address.withSockaddr { connect(late, $0, $1) } == 0)
      let client = Client(late)
      client.send("[3]\n")
      precondition(eventually { server.thread.call { _ in listener.value?.isPaused ?? false } })
      first.send("[2]\n")
      precondition(first.receive(lines: 1) == "[2]\n")

      for filler in fillers { close(filler) }
      precondition(client.receive(lines: 1) == "[3]\n")
      server.thread.call { _ in
        listener.value?.stop()
        listener.value = nil
      }
      server.end()
    }
  }
}
