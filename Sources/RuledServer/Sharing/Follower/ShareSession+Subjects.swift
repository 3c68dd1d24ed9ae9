import RuledCore
import RuledEngine
import RuledJSON
import RuledWire

/// What the owner has for subjects of this node: partitions that come and go, requests, messages and timers.
extension ShareSession {
  /// Something to do that may have to wait for a grant before it.
  enum Task {
    /// Partitions come, on what the log has up to `after`; without partitions, only further numbers.
    case grant(PartitionSet, after: Int64, sequence: UInt64)
    /// Partitions go.
    case release(move: UInt64, PartitionSet)
    /// Requests that had to wait.
    case requests([(number: UInt64, isAdmin: Bool, isInBatch: Bool, text: [UInt8])])
    /// Messages that are in the log up to `after`.
    case messages(after: Int64, [SharedMessage])
    /// A timer is due.
    case fire(number: UInt64, DueTimer)
  }

  // MARK: The order

  /// Does something, or keeps it until the grant before it is opened.
  func take(_ task: Task) {
    if awaitedGrant == nil { execute(task) } else { backlog.append(task) }
  }

  /// Executes requests, or keeps copies of them until the grant before them is opened.
  func take(_ requests: [SharedRequest]) {
    if awaitedGrant == nil { return execute(requests) }
    backlog.append(.requests(requests.map { ($0.number, $0.isAdmin, $0.isInBatch, Array($0.text)) }))
  }

  private func execute(_ task: Task) {
    guard engine != nil else { return end("the owner sent work before it accepted this node") }
    switch task {
    case .grant(let partitions, let after, let sequence):
      guard !hasPlayed(after) else { return open(partitions, sequence: sequence) }
      awaitedGrant = (partitions, after, sequence)
      awaitPlayback(of: after)
    case .release(let move, let partitions): release(partitions, move: move)
    case .requests(let requests):
      for request in requests {
        request.text.withView { text in
          let shared = SharedRequest(
            number: request.number, isAdmin: request.isAdmin, isInBatch: request.isInBatch, text: text)
          execute([shared])
        }
      }
    case .messages(let after, let messages):
      awaitedMessages.append((after, messages))
      if hasPlayed(after) { deliverMessages() } else { awaitPlayback(of: after) }
    case .fire(let number, let timer): fire(timer, number)
    }
  }

  /// Goes on with what waited for the playback of the log.
  func advance() {
    deliverMessages()
    guard let grant = awaitedGrant, hasPlayed(grant.after) else { return }
    awaitedGrant = nil
    open(grant.partitions, sequence: grant.sequence)
    let waiting = backlog
    backlog = []
    for task in waiting where endReason == nil { take(task) }
  }

  // MARK: Partitions

  /// Begins to evaluate for partitions.
  private func open(_ partitions: PartitionSet, sequence: UInt64) {
    guard let services = engine?.services else { return }
    services.context.advanceSequence(to: sequence)
    guard !partitions.isEmpty else { return }
    for worker in services.workers { worker.send(.perform { $0.hold(partitions) }) }
    shares.assign(partitions, to: nil)
    for worker in services.workers { worker.send(.perform { $0.open(partitions) }) }
    let mailbox = mailbox
    node.clients?.arrive(partitions, services) { _ = mailbox.send(.clientRequests($0)) }
  }

  /// Lets no more requests of this node's clients come for partitions, before these go.
  private func release(_ partitions: PartitionSet, move: UInt64) {
    guard let clients = node.clients else { return finishRequests(partitions, move: move) }
    let mailbox = mailbox
    clients.leave(partitions) { mailbox.send(.clientsLeft(move: move, partitions)) }
  }

  /// Lets the workers execute what came for partitions.
  func finishRequests(_ partitions: PartitionSet, move: UInt64) {
    let mailbox = mailbox
    engine?.services.onEachWorker { _, done in
      done()
    } then: {
      mailbox.send(.routed(move: move, partitions))
    }
  }

  /// Lets the workers finish what they have of partitions.
  func giveUp(_ partitions: PartitionSet, move: UInt64) {
    shares.assign(partitions, to: 0)
    let mailbox = mailbox
    engine?.services.onEachWorker { worker, done in
      worker.giveUp(partitions, done)
    } then: {
      mailbox.send(.givenUp(move: move))
    }
  }

  // MARK: Work

  /// Passes requests on to the workers that have their subjects.
  private func execute(_ requests: [SharedRequest]) {
    guard let services = engine?.services else { return end("the owner sent requests before it accepted this node") }
    var bundles = [RequestBundle?](repeating: nil, count: services.workers.count)
    services.inFlight.wrappingAdd(requests.count, ordering: .relaxed)
    for request in requests {
      let target = ReplyTarget(
        .owner, connection: request.number, batch: request.isInBatch ? 1 : 0, isAdmin: request.isAdmin)
      text.removeAll()
      text.append(request.text)
      text.reserve(LineFramer.padding)
      let place = place(of: text.bytes, services)
      // Any worker answers what is wrong with a request that has no place here.
      let worker = place.map { $0.owner < bundles.count ? $0.owner : 0 } ?? 0
      let bundle = bundles[worker] ?? RequestBundle()
      bundles[worker] = bundle
      bundle.append(request.text, to: target, subject: place?.hash ?? 0, partition: place?.partition)
    }
    for (worker, bundle) in bundles.enumerated() {
      if let bundle { services.workers[worker].send(.requests(bundle)) }
    }
  }

  /// The place of the subject that a request is about; the `LineFramer.padding` bytes after it can be read.
  private func place(of text: ByteView, _ services: Services) -> SubjectPlace? {
    if let subject = text.eventSubject { return services.place(of: subject) }
    guard case .single(.request(let request)) = parser.parse(text, readable: text.count + LineFramer.padding) else {
      return nil
    }
    return request.params?.member("subject")?.string.map { services.place(of: $0) }
  }

  /// Passes messages on to the workers that have their subjects, as far as the log is played back.
  private func deliverMessages() {
    guard let services = engine?.services else { return }
    var count = 0
    var byWorker = [[CommitBatch.Message]](repeating: [], count: services.workers.count)
    while count < awaitedMessages.count, hasPlayed(awaitedMessages[count].after) {
      for message in awaitedMessages[count].messages {
        let cascade = message.cascade == 0 ? nil : cascade(message.cascade)
        let owner = services.owner(of: message.subject)
        guard owner < byWorker.count else {
          cascade?.leave(isCommitted: false)
          continue
        }
        byWorker[owner].append(
          CommitBatch.Message(
            subject: message.subject, sequence: message.sequence, cascade: cascade,
            sender: services.context.senders[message.plugin]))
      }
      count += 1
    }
    awaitedMessages.removeFirst(count)
    for (worker, messages) in byWorker.enumerated() where !messages.isEmpty {
      services.workers[worker].send(.messages(messages))
    }
  }

  /// Has a timer fired by the worker that has its subject.
  private func fire(_ timer: DueTimer, _ number: UInt64) {
    guard let services = engine?.services else { return }
    let cascade = cascade(number)
    let owner = services.owner(of: timer.subject)
    guard owner < services.workers.count else { return cascade.leave() }
    services.workers[owner].send(.fire(timer, cascade))
  }

  /// A cascade whose end the owner waits for under a number.
  private func cascade(_ number: UInt64) -> Cascade {
    let mailbox = mailbox
    return Cascade { isWhole in _ = mailbox.send(.cascadeEnded(number, isWhole: isWhole)) }
  }
}
