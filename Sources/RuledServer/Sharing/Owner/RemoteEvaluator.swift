import RuledCore
import RuledEngine
import RuledWire

/// A node that evaluates for the owner of the log, as the owner sees it: to the other threads it is one more worker.
///
/// It passes requests, messages and timers on, and submits what the node wants to be committed. Confined to the thread that lends.
final class RemoteEvaluator {
  /// What the owner knows of a round of submissions.
  struct Round {
    let number: UInt64
    /// How many of its submissions have no result yet.
    var left: Int
    var durable = 0
    var failure: CommitResult?
  }

  /// A request that was passed on, with the bundle that has its text.
  private struct Sent {
    let bundle: RequestBundle
    let entry: RequestBundle.Entry
  }

  let node: String
  let terms: ShareTerms
  let revision: String
  /// Tells it from others that have had the same slot.
  let number: Int
  /// Its index among the receivers of `Shares`.
  let slot: Int
  /// The partitions that it was granted.
  private(set) var partitions = PartitionSet()
  /// The partitions that are on their way to it.
  private(set) var coming = PartitionSet()
  /// The requests about those; once the node is lost, about any partition that it had.
  private(set) var waiting: [ForwardedRequest] = []
  /// The plugins that it knows to be suspended.
  var suspended: Set<String> = []
  /// What is wrong with what it evaluates.
  var health = ShareHealth()
  /// The problems that the node was last sent.
  var toldProblems: [String] = []
  /// The last position that was sent to the node.
  private var toldPosition: Int64 = 0
  /// Where it knows the manual clock to stand.
  var clock: Int64?
  /// Until when it may answer reads, in nanoseconds of the owner's monotonic clock.
  private(set) var validUntil: UInt64 = 0
  /// Whether it has sent its first ping, and so has loaded the rules.
  var isReady: Bool { validUntil > 0 }
  /// How many requests of its clients it has not got replies to.
  var unanswered = 0
  /// Whether it wants to take no more part.
  var isLeaving = false
  /// Why it takes no more part; nil while it does.
  var loss: String?

  let services: Services
  private let lending: Lending
  let channel: ShareChannel
  let parser = RequestParser()
  let text = ByteBuffer(capacity: 4096)
  /// The requests that it has not answered.
  private var requests: [UInt64: Sent] = [:]
  private var cascades: [UInt64: Cascade] = [:]
  private var lastNumber: UInt64 = 0
  var rounds: [Round] = []
  /// Messages for it that are in the log, and whose frame leaves at the end of the tick.
  private var messages: [SharedMessage] = []

  /// A node that joined over `channel` and was accepted.
  init(
    _ join: ShareJoin, terms: ShareTerms, number: Int, slot: Int, _ services: Services, _ lending: Lending,
    _ channel: ShareChannel
  ) {
    self.number = number
    node = join.node
    revision = join.revision
    self.terms = terms
    clock = terms.manualClock
    self.slot = slot
    self.services = services
    self.lending = lending
    self.channel = channel
    channel.send(.accept(terms))
  }

  var receiver: Int { services.workers.count + slot }
  var position: Int64 { lending.position() }

  // MARK: Partitions

  /// Lets requests about partitions wait here until `grant`.
  func expect(_ partitions: PartitionSet) { coming.formUnion(partitions) }

  /// Lets the node evaluate for the partitions that are on their way, with the requests that waited.
  func grant(_ set: PartitionSet, sequence: UInt64) {
    channel.send(.grant(set, after: position, sequence: sequence))
    coming.subtract(set)
    partitions.formUnion(set)
    let all = waiting
    waiting = []
    for request in all { forward(request) }
  }

  /// Gives the node further numbers for what it stores.
  func grantNumbers(_ sequence: UInt64) { channel.send(.grant(PartitionSet(), after: position, sequence: sequence)) }

  /// Asks the node to finish what it has of partitions.
  func release(_ set: PartitionSet, move: UInt64) { channel.send(.release(move: move, set)) }

  /// Notes that partitions are not the node's any more.
  func remove(_ set: PartitionSet) {
    partitions.subtract(set)
    coming.subtract(set)
    for request in takeWaiting() { forward(request) }
  }

  // MARK: From this daemon's threads

  /// Does for the node what a worker would do with a message.
  func receive(_ message: WorkerMessage) {
    switch message {
    case .request(let request): forward(request)
    case .requests(let bundle): forward(bundle)
    case .messages(let messages): for message in messages { add(message) }
    case .fire(let timer, let cascade): fire(timer, cascade)
    case .durable(let submissions):
      for durable in submissions where durable.worker == receiver { complete(durable.submission) }
    case .lost(let submission, let result):
      services.context.counters.release(foreign: submission.batch)
      for message in submission.batch.messages { message.cascade?.leave(isCommitted: false) }
      services.elsewhere?.noteLostCommit()
      noteResult { $0.failure = $0.failure == .unknown ? .unknown : result }
    case .cascadeEnded(let number, let isWhole): channel.send(.ended(number: number, isWhole: isWhole))
    case .replies(let bundle): answer(bundle)
    case .perform: preconditionFailure("only a thread of this daemon can do that")
    }
  }

  /// Sends what has gathered; at the end of each tick.
  func flush() {
    guard !messages.isEmpty else { return }
    channel.send(.messages(after: position, messages))
    messages = []
  }

  private func forward(_ bundle: RequestBundle) {
    guard loss == nil, coming.isEmpty, bundle.entries.allSatisfy({ $0.partition.map(partitions.contains) ?? false })
    else {
      for entry in bundle.entries { forward(bundle.request(entry)) }
      return
    }
    send(bundle)
  }

  private func forward(_ request: ForwardedRequest) {
    guard let partition = request.partition, loss == nil, partitions.contains(partition) else {
      // It waits for a grant, or for the workers to get what a lost node had. Or its partition has left meanwhile, and a worker knows where it went.
      if let partition = request.partition, coming.contains(partition) || partitions.contains(partition) {
        return waiting.append(request)
      }
      if !services.workers[0].send(.request(request)) { refuse(request.text, request.target, Self.isGone) }
      return
    }
    let bundle = RequestBundle()
    request.text.withView { bundle.append($0, to: request.target, subject: request.subject, partition: partition) }
    send(bundle)
  }

  /// Sends the requests of a bundle, which is kept until they are answered.
  private func send(_ bundle: RequestBundle) {
    let position = position
    if position > toldPosition {
      toldPosition = position
      channel.send(.position(position))
    }
    for entry in bundle.entries {
      lastNumber += 1
      requests[lastNumber] = Sent(bundle: bundle, entry: entry)
      channel.send(
        SharedRequest(
          number: lastNumber, isAdmin: entry.target.isAdmin, isInBatch: entry.target.batch != 0,
          text: bundle.text(of: entry)))
    }
  }

  private func add(_ message: CommitBatch.Message) {
    // What is on its way is found in the store by where it goes.
    guard loss == nil, partitions.contains(Partition(of: message.subject)) else {
      message.cascade?.leave(isCommitted: false)
      return
    }
    messages.append(
      SharedMessage(
        subject: message.subject, sequence: message.sequence, plugin: message.sender?.name ?? "",
        cascade: message.cascade.map { number(for: $0) } ?? 0))
  }

  private func fire(_ timer: DueTimer, _ cascade: Cascade) {
    guard loss == nil, partitions.contains(Partition(of: timer.subject)) else {
      _ = services.control.send(.timerMoved(timer))
      return cascade.leave()
    }
    channel.send(.fire(number: number(for: cascade), timer))
  }

  private func number(for cascade: Cascade) -> UInt64 {
    lastNumber += 1
    cascades[lastNumber] = cascade
    return lastNumber
  }

  // MARK: From the node

  /// Sends replies of the node to their clients: all for the connections of one worker, or the clients of one node, at once.
  func reply(_ replies: [(number: UInt64, reply: ByteView)]) {
    guard !replies.isEmpty else { return }
    var bundles = services.receivers.map { _ in ReplyBundle() }
    for (number, bytes) in replies {
      guard let target = requests.removeValue(forKey: number)?.entry.target else { continue }
      if let index = services.index(of: target.receiver) {
        bundles[index].append(bytes, to: target)
        continue
      }
      var bundle = ReplyBundle()
      bundle.append(bytes, to: target)
      services.send(bundle, to: target.receiver)
    }
    for (index, bundle) in bundles.enumerated() where !bundle.isEmpty {
      services.receivers[index].send(.replies(bundle))
    }
  }

  /// Refuses a request whose reply the node can't send.
  func refuse(_ number: UInt64) {
    if let sent = requests.removeValue(forKey: number) { refuse(sent, Self.isTooLarge) }
  }

  /// Ends the cascade of a message or a timer.
  func end(_ number: UInt64, isWhole: Bool) { cascades.removeValue(forKey: number)?.leave(isCommitted: isWhole) }

  /// Answers a ping: for how long from then on the node may answer reads.
  func pong(_ time: UInt64) {
    let lease = UInt64(max(0, lending.leaseLeft())) * 1_000_000
    let validity = min(Self.validity, lease)
    validUntil = max(validUntil, EngineClock.monotonic + validity)
    channel.send(.pong(time: time, validity: validity, now: services.context.clock.now.microseconds))
  }

  /// For how long a node may answer reads after a ping, in nanoseconds.
  static let validity: UInt64 = 1_000_000_000

  // MARK: The end

  /// Ends the connection, and all that waits for the node; returns the requests that it has not got.
  func fail(_ reason: String) -> [ForwardedRequest] {
    if loss == nil { loss = reason }
    channel.close(reason)
    for (_, sent) in requests.sorted(by: { $0.key < $1.key }) { refuse(sent, Self.isGone) }
    requests = [:]
    for cascade in cascades.values { cascade.leave(isCommitted: false) }
    cascades = [:]
    messages = []
    return takeWaiting()
  }

  /// Takes the requests that wait here.
  func takeWaiting() -> [ForwardedRequest] {
    defer { waiting = [] }
    return waiting
  }

  private func refuse(_ sent: Sent, _ error: RequestError) {
    refuse(Array(sent.bundle.text(of: sent.entry)), sent.entry.target, error)
  }

  /// Answers a request with an error.
  func refuse(_ text: [UInt8], _ target: ReplyTarget, _ error: RequestError) {
    services.elsewhere?.noteRefusal(error.code)
    let buffer = ByteBuffer(capacity: 256)
    ReplySender.writeRefusal(
      of: text, error, isAlone: target.batch == 0, parser: parser, to: buffer)
    var bundle = ReplyBundle()
    bundle.append(buffer.bytes, to: target)
    services.send(bundle, to: target.receiver)
  }

  private static let isTooLarge = RequestError(
    .tooLarge,
    "the reply has more than \(ShareFrame.mostItemBytes >> 20) MiB, which the node that evaluates for this subject can't send: "
      + "'rulectl cluster drain' that node, and ask again")

  private static let isGone = RequestError(
    .unavailable,
    "the node that evaluates for this subject can't be reached any more; the request may have taken effect: send it again, "
      + "a repeat finds the first outcome", details: [.init("retry_after_ms", 1000)])
}
