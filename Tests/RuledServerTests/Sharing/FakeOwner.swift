import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import Synchronization

@testable import RuledServer

/// An owner of the log that does what a test says: it commits what a node submits, and keeps what the node sends.
final class FakeOwner: Sendable {
  /// What came from the node.
  struct Received {
    var joins: [ShareJoin] = []
    var submissions: [SharedSubmission] = []
    var replies: [UInt64: String] = [:]
    var ended: [UInt64: Bool] = [:]
    var released: [UInt64: UInt64] = [:]
    var failedTimers: [DueTimer] = []
    var pings = 0
    /// The sum of what was counted.
    var counts = ShareCounts()
    /// Why connections ended.
    var ends: [String] = []
    /// The kinds of frames but for pings and counts, in their order.
    var order: [String] = []
  }

  private struct State {
    var received = Received()
    /// What becomes of rounds; nil while they get no answer.
    var result: CommitResult? = .durable
    var validity: UInt64 = 10_000_000_000
    var isAccepting = true
  }

  let log: PlayedLog
  private let loop: LoopThread
  private let channel = Confined<ShareChannel>()
  private let state = Mutex(State())

  init(_ log: PlayedLog) throws {
    self.log = log
    loop = try LoopThread()
  }

  /// Ends its thread.
  func stop() {
    loop.post { [self] _ in channel.value?.close("the test ends") }
    loop.end()
  }

  /// The route of a node to this owner.
  func route() -> FollowerShare.Route {
    FollowerShare.Route(owner: "owner", id: ObjectIdentifier(self)) { [self] done in
      guard state.withLock({ $0.isAccepting }) else { return done(.failure(.init(reason: "it is not there"))) }
      let (near, far) = PlainSocket.pair()
      done(.success(far))
      loop.post { [self] loop in
        do throws(SystemError) {
          channel.value = try ShareChannel(on: loop, near, senders: MessageSenders()) { [self] in
            receive($0)
          } ended: { [self] reason in
            state.withLock { $0.received.ends.append(reason) }
          }
        } catch { fatalError("\(error)") }
      }
    }
  }

  // MARK: What the test says

  func send(_ frame: @autoclosure @escaping @Sendable () -> ShareFrame) {
    loop.post { [self] _ in channel.value?.send(frame()) }
  }

  /// Passes a request on.
  func request(_ number: UInt64, _ text: String, isInBatch: Bool = false) {
    loop.post { [self] _ in
      Array(text.utf8).withView {
        channel.value?.send(SharedRequest(number: number, isAdmin: true, isInBatch: isInBatch, text: $0))
      }
    }
  }

  /// Passes an event on whose id is that of its number.
  func event(_ number: UInt64, _ type: String, _ subject: String, _ more: String = "") {
    request(
      number,
      #"{"jsonrpc":"2.0","id":\#(number),"method":"event","params":{"type":"\#(type)","subject":"\#(subject)","id":"e\#(number)"\#(more)}}"#
    )
  }

  /// Ends the connection.
  func farewell(_ reason: String) { loop.post { [self] _ in channel.value?.close(reason) } }

  /// Gives rounds that result from now on, or no answer.
  func answer(rounds result: CommitResult?) { state.withLock { $0.result = result } }

  /// Lets nodes answer reads for so many nanoseconds after a ping.
  func confirm(for validity: UInt64) { state.withLock { $0.validity = validity } }

  /// Whether nodes get a connection.
  func accept(_ isAccepting: Bool) { state.withLock { $0.isAccepting = isAccepting } }

  // MARK: What came

  /// What has come.
  var received: Received { state.withLock { $0.received } }

  /// The reply to a request, once it has come.
  func reply(to number: UInt64) throws -> JSONValue {
    guard eventually({ received.replies[number] != nil }), let reply = received.replies[number] else { return .null }
    return try JSONValue(parsing: reply)
  }

  private func receive(_ frame: ShareFrame) {
    note(frame)
    switch frame {
    case .join:
      channel.value?.send(
        .accept(ShareTerms(manualClock: 1_700_000_000_000_000, now: 1_700_000_000_000_000, steady: 0, journals: false)))
    case .submit(let round, let submissions):
      guard let result = state.withLock({ $0.result }) else { return }
      var after: Int64 = 0
      if result == .durable {
        for submission in submissions {
          after = log.commit(submission.batch.writes)
          note(submission.enclosed)
        }
      }
      channel.value?.send(.committed(round: round, result, after: after))
    case .ping(let time, _):
      channel.value?.send(
        .pong(time: time, validity: state.withLock { $0.validity }, now: EngineClock.wall.microseconds))
    default: break
    }
  }

  private func note(_ enclosed: ReplyBundle) {
    state.withLock { state in enclosed.forEach { state.received.add([($1.connection, $0)]) } }
  }

  private func note(_ frame: ShareFrame) {
    state.withLock { state in
      switch frame {
      case .join(let join): state.received.joins.append(join)
      case .submit(_, let submissions):
        state.received.submissions += submissions
        state.received.order.append("submit")
      case .replies(let replies):
        state.received.add(replies)
        state.received.order.append("replies")
      case .timerFailed(let timer, _): state.received.failedTimers.append(timer)
      case .released(let move, let sequence):
        state.received.released[move] = sequence
        state.received.order.append("released")
      case .ping: state.received.pings += 1
      case .counted(let counts): state.received.add(counts)
      case .ended(let number, let isWhole): state.received.ended[number] = isWhole
      default: state.received.order.append("unexpected")
      }
    }
  }
}

extension FakeOwner.Received {
  fileprivate mutating func add(_ more: [(number: UInt64, reply: ByteView)]) {
    for (number, reply) in more { replies[number] = String(decoding: reply, as: UTF8.self) }
  }

  /// Adds what was counted; there is one plugin.
  fileprivate mutating func add(_ more: ShareCounts) {
    counts.events += more.events
    counts.queries += more.queries
    counts.duplicates += more.duplicates
    counts.errors.merge(more.errors, uniquingKeysWith: +)
    for tally in more.plugins {
      var sum = counts.plugins.first ?? PluginTally(name: tally.name)
      sum.runs += tally.runs
      sum.failures.merge(tally.failures, uniquingKeysWith: +)
      sum.isSuspended = sum.isSuspended || tally.isSuspended
      counts.plugins = [sum]
    }
  }
}
