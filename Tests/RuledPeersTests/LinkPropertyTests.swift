import Glibc
import RuledCore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledPeers

/// What holds whatever happens to the link, with seeds that repeat the choices.
@Suite struct LinkPropertyTests {
  /// A request's subject and its place among the requests of that subject.
  private struct Request: Sendable, Hashable {
    let subject: Int
    let sequence: Int
    let padding: Int

    var text: String { "\(subject) \(sequence) \(String(repeating: "x", count: padding))" }

    init(_ subject: Int, _ sequence: Int, padding: Int) {
      self.subject = subject
      self.sequence = sequence
      self.padding = padding
    }

    /// The request that `bytes` hold.
    init(_ bytes: ByteView) {
      let parts = String(decoding: bytes, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
      self.init(Int(parts[0]) ?? -1, Int(parts[1]) ?? -1, padding: parts[2].count)
    }
  }

  /// Answers requests on several threads: those of one subject on the same one, in their order.
  private final class Workers: Sendable {
    let taken = Journal<Request>()
    private let isEnded = Atomic(false)
    private let threads: Mutex<[Thread]> = Mutex([])

    private final class Queue: Sendable {
      let items: Mutex<[(PeerReply, Int, Request)]> = Mutex([])
    }
    private let all: [Queue]

    init(seed: UInt64) throws {
      all = [Queue(), Queue(), Queue()]
      for (number, queue) in all.enumerated() {
        let thread = try Thread(name: "worker") { [self] in
          var random = SeededRandom(seed: seed &+ UInt64(number))
          while !isEnded.load(ordering: .relaxed) {
            usleep(.random(in: 50...2000, using: &random))
            let items = queue.items.withLock { items in
              defer { items = [] }
              return items
            }
            for (reply, index, request) in items { (request.text + "!").withView { reply.answer(index, $0) } }
          }
        }
        threads.withLock { $0.append(thread) }
      }
    }

    func take(_ batch: PeerBatch, _ reply: PeerReply) {
      for index in 0..<batch.count {
        let request = Request(batch[index])
        taken.add(request)
        all[request.subject % all.count].items.withLock { $0.append((reply, index, request)) }
      }
    }

    func end() {
      isEnded.store(true, ordering: .relaxed)
      for thread in threads.withLock({ $0 }) { thread.join() }
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `what is answered was asked, once and in order, while the link breaks`(seed: UInt64) throws {
    var limits = PeerRig.limits
    limits.unansweredRequests = 2_000
    limits.silenceMilliseconds = 2_000
    let workers = try Workers(seed: seed)
    let rig = try PeerRig(limitsOfA: limits, limitsOfB: limits) { workers.take($0, $1) }
    #expect(rig.waitForLink())
    let accepted = Journal<Request>()
    let answers = Journal<(Request, Heard)>()
    var senders: [Thread] = []
    for sender in 0..<4 {
      senders.append(
        try Thread(name: "sender") {
          var random = SeededRandom(seed: seed &* 31 &+ UInt64(sender))
          var sequences = [Int](repeating: 0, count: 5)
          for _ in 0..<400 {
            let batch = PeerBatch()
            var requests: [Request] = []
            for _ in 0..<Int.random(in: 1...20, using: &random) {
              let subject = Int.random(in: 0..<5, using: &random)
              sequences[subject] += 1
              let size = Int.random(in: 0..<20, using: &random) == 0 ? 30_000 : 100
              let request = Request(
                sender * 5 + subject, sequences[subject], padding: .random(in: 0..<size, using: &random))
              requests.append(request)
              request.text.withView { batch.append($0) }
            }
            let sent = requests
            if rig.link.send(batch, { answers.add((sent[$0], Heard($1))) }) == .accepted {
              for request in sent { accepted.add(request) }
            }
            usleep(.random(in: 0...8_000, using: &random))
          }
        })
    }
    var random = SeededRandom(seed: seed &* 77)
    for _ in 0..<12 {
      usleep(.random(in: 20_000...150_000, using: &random))
      rig.relay.pass([.both, .there, .back, []].randomElement(using: &random) ?? .both)
      usleep(.random(in: 1_000...100_000, using: &random))
      if Bool.random(using: &random) { rig.relay.reset() }
      rig.relay.pass(.both)
    }
    for sender in senders { sender.join() }
    // At the end, one request is surely in flight when the link breaks, and one is surely answered.
    let taken = workers.taken
    var sequence = 0
    func outcome(passes: Relay.Directions) -> Heard? {
      let batch = PeerBatch()
      sequence += 1
      let request = Request(20, sequence, padding: 0)
      request.text.withView { batch.append($0) }
      guard rig.waitForLink() else { return nil }
      rig.relay.pass(passes)
      defer { rig.relay.pass(.both) }
      guard rig.link.send(batch, { answers.add((request, Heard($1))) }) == .accepted else { return nil }
      accepted.add(request)
      func heard() -> Heard? { answers.items.first { $0.0 == request }?.1 }
      if passes != .both {
        #expect(eventually { taken.items.contains(request) || heard() != nil })
        rig.relay.reset()
      }
      #expect(eventually { heard() != nil })
      return heard()
    }
    #expect(eventually { outcome(passes: .there) == .unavailable(wasSent: true) })
    #expect(eventually { if case .answered = outcome(passes: .both) { true } else { false } })
    #expect(eventually { answers.items.count >= accepted.items.count })
    rig.link.close()
    workers.end()

    let heard = answers.items
    #expect(heard.count == accepted.items.count)
    #expect(Set(heard.map(\.0)) == Set(accepted.items))
    let answered = heard.filter { if case .answered = $0.1 { true } else { false } }
    #expect(answered.allSatisfy { $0.1 == .answered($0.0.text + "!") })
    #expect(Self.areInOrder(answered.map(\.0)), "answers of a subject changed places")
    #expect(Set(taken.items).count == taken.items.count, "a request came twice")
    #expect(Self.areInOrder(taken.items), "requests of a subject changed places")
    let neverSent = Set(heard.filter { $0.1 == .unavailable(wasSent: false) || $0.1 == .overloaded }.map(\.0))
    #expect(neverSent.isDisjoint(with: taken.items), "what was not sent came")
    #expect(rig.linkings > 1 && heard.contains { $0.1 == .unavailable(wasSent: true) })
  }

  private static func areInOrder(_ requests: [Request]) -> Bool {
    var last: [Int: Int] = [:]
    return requests.allSatisfy { request in
      defer { last[request.subject] = request.sequence }
      return request.sequence > last[request.subject, default: 0]
    }
  }
}
