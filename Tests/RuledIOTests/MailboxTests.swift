import IOTestSupport
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledIO

@Suite struct MailboxTests {
  @Test func `messages of many threads arrive complete and in each thread's order`() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let mailbox = Mailbox<(sender: Int, number: Int)>()
    let received = Received()
    let senders = try (0..<4).map { sender in
      try Thread.start(name: "sender") {
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

  @Test func `messages during a collection are returned and wake nobody`() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let mailbox = Mailbox<Int>()
    let received = Signal<[Int]>()
    let collected = thread.call { loop in
      do { try mailbox.attach(to: loop) { received.set($0) } } catch { Issue.record(error) }
      #expect(mailbox.isEmpty)
      mailbox.send(1)
      #expect(!mailbox.isEmpty)
      return mailbox.collect {
        mailbox.send(2)
        for message in [3, 4] { mailbox.send(message) }
      }
    }
    #expect(collected == [1, 2, 3, 4])
    mailbox.send(5)
    #expect(received.wait() == [5])
    thread.call { _ in mailbox.close() }
  }
}

/// The messages of each sender.
private final class Received: Sendable {
  private let numbers = Mutex([[Int]](repeating: [], count: 4))

  func add(_ sender: Int, _ number: Int) { numbers.withLock { $0[sender].append(number) } }
  func from(_ sender: Int) -> [Int] { numbers.withLock { $0[sender] } }
  var count: Int { numbers.withLock { $0.reduce(0) { $0 + $1.count } } }
}
