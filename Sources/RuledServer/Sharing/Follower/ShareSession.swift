import RuledCore
import RuledEngine
import RuledStore
import RuledWire

/// One connection of a follower to the owner of the log, with the part of the engine that evaluates for the owner while it lasts.
///
/// Confined to its thread. That thread never waits, neither for the workers nor for the playback of the log: what has to wait for a
/// position in the log is kept here until it is played back.
final class ShareSession {
  /// What other threads have for it.
  enum Message: Sendable {
    /// The connection to the owner.
    case connected(any ShareSocket)
    /// A round of submissions for the owner.
    case submit(round: UInt64, [SharedSubmission])
    /// Requests of this node's clients for the owner, with the clients' numbers.
    case clientRequests(RequestBundle)
    /// A cascade that came with that number has ended.
    case cascadeEnded(UInt64, isWhole: Bool)
    /// So many batches of the log are played back.
    case played(Int64)
    /// No more requests of this node's clients come for the partitions of the release with that number.
    case clientsLeft(move: UInt64, PartitionSet)
    /// The workers have executed what came before the release with that number.
    case routed(move: UInt64, PartitionSet)
    /// The workers have given up the partitions of the release with that number.
    case givenUp(move: UInt64)
    /// The owner shall take back what it has lent, and then end the session.
    case leave
    /// The session has to end.
    case end(String)
  }

  /// How often the owner is asked whether the node still evaluates for it, in milliseconds.
  private static let period: UInt64 = 100
  /// How long the owner may send nothing, in nanoseconds.
  private static let silence: UInt64 = 5_000_000_000

  let node: EvaluatingNode
  private let catalog: Catalog
  private let owner: String
  let loop: EventLoop
  let mailbox: Mailbox<Message>
  let shares = Shares.ofOther()
  let replies: OwnerReplies
  private var channel: ShareChannel?
  /// The part of the engine; nil until the owner accepts.
  private(set) var engine: LentEngine?
  /// Why it ends; nil before.
  private(set) var endReason: String?
  private var gathered = ReplyBundle()
  /// What the owner knows to be wrong here.
  private var toldHealth = ShareHealth()
  /// How many requests of this node's clients the owner has not answered.
  private var unanswered = 0

  /// When the owner's silence was last looked at, and since when this thread has always done so in time.
  private var (checkedAt, inTimeSince) = (MonotonicClock.nanoseconds, MonotonicClock.nanoseconds)

  /// Up to where the log is known to be played back.
  private var playedTo: Int64 = 0
  /// What was granted and waits until the log is played back that far; what came behind it waits, too.
  var awaitedGrant: (partitions: PartitionSet, after: Int64, sequence: UInt64)?
  var backlog: [Task] = []
  /// The messages that wait until the log is played back up to them, in their order.
  var awaitedMessages: [(after: Int64, messages: [SharedMessage])] = []
  let parser = RequestParser()
  let text = ByteBuffer(capacity: 4096)

  /// A session that joins `owner` with `catalog`, the rules in force in the log, once it has a connection.
  ///
  /// `mailbox` is where others reach it.
  init(
    _ node: EvaluatingNode, _ catalog: Catalog, with owner: String, on loop: EventLoop, mailbox: Mailbox<Message>
  ) throws(SystemError) {
    self.node = node
    self.catalog = catalog
    self.owner = owner
    self.loop = loop
    self.mailbox = mailbox
    replies = OwnerReplies(node.clients)
    try mailbox.attach(to: loop) { [unowned self] messages in for message in messages { receive(message) } }
    try replies.attach(to: loop) { [unowned self] in sendReplies() }
    try loop.timer(after: Self.period, every: Self.period) { [unowned self] in
      checkSilence()
      ping()
    }
  }

  private func join(over socket: any ShareSocket) {
    do throws(SystemError) {
      channel = try ShareChannel(on: loop, socket, senders: MessageSenders()) { [unowned self] in
        receive($0)
      } ended: { [unowned self] in
        end($0)
      }
    } catch { return end("this node can't evaluate: \(error)") }
    send(.join(ShareJoin(node: node.name, incarnation: node.incarnation, revision: catalog.revision)))
  }

  /// Serves until the share ends; returns why.
  func run() -> String {
    if endReason == nil { loop.run() }
    engine?.stop()
    node.problems.own = []
    node.problems.told = []
    engine?.services.control.close()
    shares.receivers[0].close()
    mailbox.close()
    return endReason ?? "the node stops"
  }

  /// Ends the session at once: nothing leaves any more.
  func end(_ reason: String) {
    guard endReason == nil else { return }
    endReason = reason
    replies.end()
    node.clients?.end(reason)
    engine?.store.fail(reason)
    channel?.close(reason)
    loop.stop()
  }

  func send(_ frame: ShareFrame) {
    guard endReason == nil else { return }
    channel?.send(frame)
  }

  /// Sends the replies that have gathered.
  func sendReplies() {
    replies.take(into: &gathered)
    guard endReason == nil, gathered.count > 0 else { return }
    sendCounts()
    engine?.services.inFlight.wrappingSubtract(gathered.count, ordering: .relaxed)
    gathered.forEach { reply, target in
      if reply.count > node.mostReplyBytes {
        send(.unsendable(number: target.connection))
      } else {
        channel?.send(reply: reply, to: target.connection)
      }
    }
  }

  /// Tells the owner what was counted since the last time; to be called before what follows from that leaves.
  private func sendCounts() {
    guard let counts = engine?.counts.take(), !counts.isEmpty else { return }
    send(.counted(counts))
  }

  /// Tells the owner what is wrong with what is evaluated here, if it does not know it.
  private func sendHealth() {
    guard let services = engine?.services else { return }
    let health = DaemonStatus.shareHealth(services)
    guard health != toldHealth else { return }
    toldHealth = health
    node.problems.own = health.problems
    send(.health(health))
  }

  /// Calls `advance` once the log is played back that far.
  func awaitPlayback(of position: Int64) {
    let mailbox = mailbox
    node.playback.whenPlayed(position) { mailbox.send(.played(position)) }
  }

  /// Whether the log is known to be played back that far.
  func hasPlayed(_ position: Int64) -> Bool {
    if playedTo < position { playedTo = max(playedTo, node.playback.position()) }
    return playedTo >= position
  }

  // MARK: Receiving

  /// Does what another thread asks for.
  private func receive(_ message: Message) {
    guard endReason == nil else { return }
    switch message {
    case .connected(let socket): join(over: socket)
    case .submit(let round, let submissions):
      sendCounts()
      send(.submit(round: round, submissions))
    case .clientRequests(let bundle):
      unanswered += bundle.entries.count
      for entry in bundle.entries {
        let request = SharedRequest(
          number: entry.target.connection, isAdmin: entry.target.isAdmin, isInBatch: false,
          text: bundle.text(of: entry))
        channel?.send(request, in: .clientRequests)
      }
    case .cascadeEnded(let number, let isWhole):
      sendCounts()
      send(.ended(number: number, isWhole: isWhole))
    case .played(let position):
      playedTo = max(playedTo, position)
      advance()
    case .clientsLeft(let move, let partitions): finishRequests(partitions, move: move)
    case .routed(let move, let partitions): giveUp(partitions, move: move)
    case .givenUp(let move):
      sendReplies()  // those of the partitions' last requests
      sendCounts()
      send(.released(move: move, sequence: engine?.services.context.lastSequence ?? 0))
    case .leave: send(.leave)
    case .end(let reason): end(reason)
    }
  }

  /// Does what the owner asks for.
  private func receive(_ frame: ShareFrame) {
    guard endReason == nil else { return }
    switch frame {
    case .accept(let terms): begin(terms)
    case .committed(let round, let result, let after):
      engine?.store.answer(round, result, after: after)
      // Some of it may be in the log. The session ends; the next grant says how far to play back.
      if result == .unknown { end("the owner does not know the result of a commit") }
    case .ended(let number, let isWhole): engine?.store.endCascade(number, isWhole: isWhole)
    case .pong(let time, let validity, let now):
      replies.allowReads(until: time &+ validity)
      engine?.services.context.clock.follow(Timestamp(microseconds: now))
    case .suspended(let plugin, let isSuspended): engine?.counts.setSuspended(plugin, isSuspended)
    case .position(let position): replies.note(ownerPosition: position)
    case .problems(let problems): node.problems.told = problems
    case .clock(let time): engine?.services.context.clock.set(Timestamp(microseconds: time))
    case .farewell(let reason): end(reason)
    case .grant(let partitions, let after, let sequence): take(.grant(partitions, after: after, sequence: sequence))
    case .release(let move, let partitions): take(.release(move: move, partitions))
    case .requests(let requests): take(requests)
    case .clientReplies(let replies): answerClients(replies)
    case .messages(let after, let messages): take(.messages(after: after, messages))
    case .fire(let number, let timer): take(.fire(number: number, timer))
    case .join, .submit, .replies, .clientRequests, .timerFailed, .released, .ping, .counted, .unsendable, .health,
      .leave:
      end("the owner sent what only other nodes send")
    }
  }

  /// Passes the owner's replies on to clients of this node.
  private func answerClients(_ replies: [(number: UInt64, reply: ByteView)]) {
    unanswered -= replies.count
    var bundle = ReplyBundle()
    for (number, reply) in replies {
      bundle.append(reply, to: ReplyTarget(.standby, connection: number, isAdmin: false))
    }
    node.clients?.reply(bundle)
  }

  /// Starts the part of the engine.
  private func begin(_ terms: ShareTerms) {
    guard engine == nil else { return end("the owner accepted twice") }
    let mailbox = mailbox
    let store = ShareStore(node.playback, shares: shares, mostReplyBytes: node.mostReplyBytes) {
      mailbox.send(.submit(round: $0, $1))
    }
    do {
      let engine = try LentEngine(store, shares, terms, node, catalog, replies: replies)
      self.engine = engine
      try engine.services.control.attach(to: loop) { [unowned self] messages in
        for message in messages { receive(message) }
      }
      try shares.receivers[0].attach(to: loop) { [unowned self] messages in
        for message in messages { refuse(message) }
      }
      try engine.start { mailbox.send(.end($0)) }
      node.log.write(LogLine(.info, "this node evaluates for node \(owner)"))
      ping()
    } catch {
      end("this node can't evaluate: \(error)")
    }
  }

  /// Ends the session if the owner has sent nothing for so long that it must be gone.
  private func checkSilence() {
    let now = MonotonicClock.nanoseconds
    defer { checkedAt = now }
    // What came while this process was held up is not read yet.
    if now - checkedAt > Self.silence / 2 { inTimeSince = now }
    guard let channel, now > max(channel.lastInput, inTimeSince) + Self.silence else { return }
    end("the owner has sent nothing for \(Self.silence / 1_000_000_000) s")
  }

  /// Asks the owner to confirm that this node evaluates for it, unless other rules are in force by now.
  private func ping() {
    guard endReason == nil, engine != nil else { return }
    do throws(StoreError) {
      let live = try LiveRules.revision(in: node.playback.store)
      guard live == catalog.revision || unanswered > 0 else {
        return end("revision \(live) of the rules is in force now")
      }
    } catch { return end("the rules in force can't be read: \(error)") }
    sendCounts()
    sendHealth()
    send(.ping(time: MonotonicClock.nanoseconds, played: node.playback.position()))
  }
}
