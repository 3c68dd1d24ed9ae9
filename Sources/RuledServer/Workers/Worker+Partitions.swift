import RuledCore
import RuledEngine
import RuledWire

/// Partitions that come to this node or leave it.
///
/// A partition that comes is *held* first: its requests wait here until the place where it was has finished. One that leaves is *given up*: what this
/// worker has of it is finished and committed, and then forgotten.
extension Worker {
  /// Whether requests about a partition's subjects have to wait.
  func isHolding(_ partition: Partition?) -> Bool {
    guard let partition, !held.isEmpty else { return false }
    return held.contains(partition)
  }

  /// Lets requests about partitions wait until `open`.
  func hold(_ partitions: PartitionSet) {
    held.formUnion(partitions)
    inbox.heldPartitions = held
  }

  /// Begins to evaluate partitions that were held, on what the store has: with `first`, then with the requests that waited here.
  func open(_ partitions: PartitionSet, first: [ForwardedRequest] = []) {
    held.subtract(partitions)
    inbox.heldPartitions = held
    inbox.beginAgain()
    let waiting = first + heldRequests
    heldRequests = []
    begin()
    for request in waiting { request.text.withView { execute($0, readable: $0.count, request.target) } }
  }

  /// Goes on to execute requests about partitions until `giveUp`, though the table says that they have left: those come by the former table.
  func keep(_ partitions: PartitionSet) { kept.formUnion(partitions) }

  /// Sends what this worker has routed so far, and calls `done`: what it routes from now on goes where the table says.
  func finishRouting(_ done: @escaping @Sendable () -> Void) {
    router.forwardBundles(mayBorrow: false)
    router.executeOwnBundle()
    done()
  }

  /// Finishes what this worker has of partitions, whose requests do not come here any more, and calls `done` once it has forgotten their subjects.
  func giveUp(_ partitions: PartitionSet, _ done: @escaping @Sendable () -> Void) {
    kept.subtract(partitions)
    inbox.giveUp(partitions)
    departures.append(Departure(partitions: partitions, last: evaluator.batch.number, done: done))
    loop.onNextTick {}
  }

  /// Forgets the subjects of partitions that were given up and whose last commit has its result; at the end of each tick.
  func endDepartures() {
    guard !departures.isEmpty else { return }
    let first = submitted.first?.batch.number ?? (submission.isEmpty ? .max : submission.batch.number)
    for departure in departures where departure.last < first {
      evaluator.forget(where: { departure.partitions.contains(Partition(of: $0)) })
      departure.done()
    }
    departures.removeAll { $0.last < first }
  }

  /// Whether this worker still executes what comes about a subject that is evaluated elsewhere by the table.
  private func keeps(_ place: SubjectPlace) -> Bool {
    guard !kept.isEmpty, let partition = place.partition, kept.contains(partition) else { return false }
    return services.worker(forHash: place.hash) == index
  }

  /// Partitions that leave this worker.
  struct Departure {
    let partitions: PartitionSet
    /// The number of the last commit batch that may have some of their subjects.
    let last: UInt64
    let done: @Sendable () -> Void
  }

  /// Lets a request wait, or passes it on, if this worker does not evaluate its subject; returns false if it does.
  ///
  /// A request that was on its way while its partition moved may come to the wrong place. `known` is where its subject is evaluated by now.
  func redirect(
    _ request: RequestView, _ text: ByteView, _ target: ReplyTarget, at known: SubjectPlace? = nil
  ) -> Bool {
    guard let place = known ?? router.place(of: request) else { return false }
    let isHere = place.owner == index
    guard isHere ? isHolding(place.partition) : !keeps(place) else { return false }
    let request = ForwardedRequest(text: Array(text), target: target, subject: place.hash, partition: place.partition)
    if !isHere { return services.receivers[place.owner].send(.request(request)) }
    heldRequests.append(request)
    return true
  }
}

extension Services {
  /// Calls `body` on each worker's thread, behind what was sent to it before, and `finish` on any thread once each has called `done`.
  func onEachWorker(
    _ body: @escaping @Sendable (Worker, _ done: @escaping @Sendable () -> Void) -> Void,
    then finish: @escaping @Sendable () -> Void
  ) {
    let all = Cascade(finish: finish)
    for worker in workers {
      all.enter()
      if !worker.send(.perform { body($0) { all.leave() } }) { all.leave() }
    }
    all.leave()
  }
}
