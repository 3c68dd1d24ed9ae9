import Synchronization
import Testing

@testable import RuledServer

@Suite struct MailboxTests {
  @Test func whatManyThreadsSendArrivesWholeAndInEachOnesOrder() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let mailbox = Mailbox<(sender: Int, number: Int)>()
    let received = Received()
    let senders = try (0..<4).map { sender in
      try WorkerThread(name: "sender") {
        for number in 0..<20_000 { mailbox.send((sender, number)) }
      }
    }
    thread.post { loop in
      do {
        try mailbox.attach(to: loop) { batch in
          for message in batch { received.add(message.sender, message.number) }
        }
      } catch {
        Issue.record(error)
      }
    }
    for sender in senders { sender.join() }
    #expect(eventually { received.count == 80_000 })
    for sender in 0..<4 { #expect(received.from(sender) == Array(0..<20_000)) }
    thread.call { _ in mailbox.close() }
    #expect(!mailbox.send((0, 0)))
  }
}

/// What each sender's messages were.
private final class Received: Sendable {
  private let numbers = Mutex([[Int]](repeating: [], count: 4))

  func add(_ sender: Int, _ number: Int) { numbers.withLock { $0[sender].append(number) } }
  func from(_ sender: Int) -> [Int] { numbers.withLock { $0[sender] } }
  var count: Int { numbers.withLock { $0.reduce(0) { $0 + $1.count } } }
}
