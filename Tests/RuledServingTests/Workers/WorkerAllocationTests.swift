import CAllocations
import Glibc
import IOTestSupport
import RuledCore
import Synchronization
import Testing

@testable import RuledServing

@Suite struct WorkerAllocationTests {
  private static let chunks = 8
  private static let chunk = 250
  #if DEBUG
    /// Without optimisation each round of a loop over an array allocates.
    private static let mostForOne = 38.0
  #else
    /// What a tick and a commit batch allocate, spread over the events in them.
    private static let mostForOne = 1.0
  #endif

  private final class Tally: Sendable {
    let allocations = Atomic<UInt64>(0)
    let answers = Atomic<Int>(0)
  }

  /// What both workers have allocated on their threads.
  private func count(_ rig: ServerRig) -> UInt64 {
    let tally = Tally()
    for worker in rig.services.workers {
      _ = worker.send(
        .wake {
          tally.allocations.wrappingAdd(ca_count(), ordering: .relaxed)
          tally.answers.wrappingAdd(1, ordering: .releasing)
        })
    }
    while tally.answers.load(ordering: .acquiring) < rig.services.workers.count { sched_yield() }
    return tally.allocations.load(ordering: .relaxed)
  }

  private func send(_ run: String, to client: Client) -> String {
    var last = ""
    for part in 0..<Self.chunks {
      let lines = (0..<Self.chunk).map { number in
        #"{"jsonrpc":"2.0","id":\#(number),"method":"event","params":{"type":"n","subject":"user:\#(number % 100)","id":"\#(run)-\#(part)-\#(number)"}}"#
      }
      client.send(lines.joined(separator: "\n") + "\n")
      last = client.receive(lines: Self.chunk)
    }
    return last
  }

  @Test(.enabled(if: ca_is_counting()))
  func `an event from socket to socket allocates less than once`() throws {
    let rig = try ServerRig(store: ForgetfulStore())
    defer { rig.stop() }
    let client = rig.client()
    _ = send("warm", to: client)
    let before = count(rig)
    let replies = send("hot", to: client)
    let allocated = Double(count(rig) - before)
    let each = allocated / Double(Self.chunks * Self.chunk)
    #expect(each <= Self.mostForOne, "\(allocated) allocations, \(each) for each event")
    #expect(!replies.contains("error") && replies.contains("\"decisions\":{\"p\":{\"n\":48}}"))
  }
}
