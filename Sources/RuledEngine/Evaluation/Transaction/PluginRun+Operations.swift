import RuledCore
import RuledLua

/// The operations of a plugin's rules, checked once the rules have run.
extension PluginRun {
  /// Queues the plugin's raised events for the other plugins, now that its rules ran without a failure.
  func queueRaised(_ operations: Operations, in transaction: EventTransaction) throws(Failure) {
    for index in searched..<operations.count where operations.kind(at: index) == .raise {
      guard case .raise(let type, let data, let chain, let depth) = operations[index] else { continue }
      guard !transaction.queue.isFull else {
        throw failure(
          .cycle, "more than \(EventQueue.limit) events were raised within one event", at: index, in: operations,
          transaction)
      }
      guard transaction.hears(type) else {
        transaction.queue.leaveOut()
        continue
      }
      transaction.queue.append(
        raised: type, data: data, chain: chain, depth: depth, by: plugin.index, rule: operations.rule(at: index))
    }
    searched = operations.count
  }

  /// Checks the limits that need the finished rules: the number of messages, the size of the outcome, room for counters, and scores.
  func checkOperations(_ operations: Operations, in transaction: EventTransaction) throws(Failure) {
    var (newSends, newPublications, setsTimer, addsScore) = (0, 0, false, false)
    let counted = counts.count, earlierBytes = outcomeBytes
    for index in checked..<operations.count {
      self.operations.formUnion(operations.kind(at: index))
      let operation = operations[index]
      switch operation {
      case .decide, .emit: outcomeBytes += operation.outcomeBytes
      case .send: newSends += 1
      case .publish: newPublications += 1
      case .setTimer(_, _, _, let due, _):
        setsTimer = true
        if transaction.followsAtOnce(due, of: plugin.loaded) { immediateTimers += 1 }
      case .count(let name, let labels, let amount, let keep):
        let key = counterKeys.key(name: name, labels: labels)
        counts.append(CounterDelta(key, CounterValue(amount), now: transaction.event.now, keep: keep))
      case .place(_, .add, _): addsScore = true
      default: break
      }
    }
    let first = checked
    checked = operations.count
    /// The index of the n-th new operation of some kinds.
    func find(_ n: Int, _ kinds: Operation.Kinds) -> Int {
      operations.indices[first...].filter { !kinds.isDisjoint(with: operations.kind(at: $0)) }[n]
    }
    if counts.count > counted,
      let (n, delta) = counts.reserve(from: counted, of: plugin.loaded.name, in: transaction.context)
    {
      throw failure(
        .value,
        "a counter would overflow: '\(delta.key.name)' \(delta.key.labels) can't take \(delta.amount.json.text) more",
        at: find(n, .count), in: operations, transaction)
    }
    if newPublications > 0, let (n, message) = excess(ofPublications: newPublications, in: transaction) {
      throw failure(.cycle, message, at: find(n, .publish), in: operations, transaction)
    }
    newSends += newPublications
    if newSends > 0, let (n, kind, message) = excess(ofSends: newSends, in: transaction) {
      throw failure(kind, message, at: find(n, [.send, .publish]), in: operations, transaction)
    }
    if setsTimer { try checkTimers(operations, in: transaction) }
    if addsScore { try checkScores(operations, in: transaction) }
    if outcomeBytes > earlierBytes,
      let (index, message) = excess(ofBytes: earlierBytes, operations, first, in: transaction)
    {
      throw failure(.value, message, at: index, in: operations, transaction)
    }
  }

  /// The operation from `first` on with which the outcome is too long, if it is, and why; there were `earlier` bytes of this plugin's before.
  private func excess(
    ofBytes earlier: Int, _ operations: Operations, _ first: Int, in transaction: EventTransaction
  ) -> (index: Int, message: String)? {
    let others = transaction.sum(besides: self) { $0.outcomeBytes }
    guard others + outcomeBytes > Limits.outcomeBytes else { return nil }
    var bytes = others + earlier
    let index = operations.indices[first...].first { index in
      bytes += operations[index].outcomeBytes
      return bytes > Limits.outcomeBytes
    }
    let before = others > 0 ? ", after \(others) bytes of other plugins" : ""
    return (
      index ?? first,
      "decisions and effects are \(outcomeBytes) bytes\(before), more than the 1 MiB that an outcome may have"
    )
  }

  /// The failure of the operation at an index, with its rule and its line; the operations are void afterwards.
  private func failure(
    _ kind: Failure.Kind, _ message: String, at index: Int, in operations: Operations, _ transaction: EventTransaction
  ) -> Failure {
    let rule = operations.rule(at: index), rules = plugin.loaded.manifest.rules
    let failure = Failure(
      plugin: plugin.loaded.name, rule: rules.indices.contains(rule) ? rules[rule].name : nil, kind: kind,
      message: message)
    let number = operations.indices[...index].count { operations.kind(at: $0).isDisjoint(with: .explaining) }
    return plugin.vm.map { withCause(failure, operation: number, $0, in: transaction) } ?? failure
  }

  /// Refuses timers beyond the limit of pending ones for the subject, unless there are no more than before.
  private func checkTimers(_ operations: Operations, in transaction: EventTransaction) throws(Failure) {
    guard let subject = transaction.subject else { return }
    let sets = operations.indices.count { operations.kind(at: $0) == .setTimer }
    let pending: Set<[UInt8]>
    do throws(RequestError) {
      let least = max(0, Limits.timers - sets + 1)
      guard let names = try transaction.items.timers.names(of: plugin.loaded, subject, ifAtLeast: least) else { return }
      pending = names
    } catch {
      transaction.storeFailure = error
      return
    }
    var names = pending
    var last = operations.startIndex
    for index in operations.indices {
      switch operations[index] {
      case .setTimer(let name, _, _, _, _):
        if names.insert(Array(name)).inserted { last = index }
      case .cancelTimer(let name): names.remove(Array(name))
      case .forget: names.removeAll()
      default: break
      }
    }
    guard names.count > max(Limits.timers, pending.count) else { return }
    throw failure(
      .value,
      "\(names.count) timers would be pending for one subject; a plugin may have \(Limits.timers): "
        + "set one for what comes next, or send messages to subjects that set their own",
      at: last, in: operations, transaction)
  }

  /// The greatest whole number up to which a score has all digits.
  private static let greatestWhole = 0x1p53

  /// Why a sum can't be a score; nil if it can.
  private static func problem(_ score: Double, plus number: Double) -> String? {
    let sum = score + number
    guard sum.isFinite else { return "would not be finite" }
    let areWhole = [score, number].allSatisfy { $0 == $0.rounded() && abs($0) <= greatestWhole }
    // 2^53 and 1 are rounded to 2^53.
    let isOver = abs(sum) > greatestWhole || sum - score != number
    return areWhole && isOver ? "would be a whole number beyond 2^53, and lose digits" : nil
  }

  /// Refuses a score that would not be finite, or lose digits.
  private func checkScores(_ operations: Operations, in transaction: EventTransaction) throws(Failure) {
    guard let subject = transaction.subject else { return }
    var scores: [[UInt8]: Double] = [:]
    var hasForgotten = false
    for index in operations.indices {
      if operations.kind(at: index) == .forget {
        scores.removeAll()
        hasForgotten = true
      }
      guard case .place(let board, let placing, _) = operations[index] else { continue }
      switch placing {
      case .set(let score): scores[Array(board)] = score
      case .leave: scores[Array(board)] = 0
      case .add(let number):
        var score = scores[Array(board)]
        if score == nil, !hasForgotten {
          do throws(RequestError) {
            score = try transaction.items.places.score(
              on: board, of: plugin.loaded.name, subject: subject, now: transaction.event.now)
          } catch { return transaction.storeFailure = error }
        }
        if let problem = Self.problem(score ?? 0, plus: number) {
          throw failure(
            .value, "board.add: the score on '\(board.text)' \(problem)", at: index,
            in: operations, transaction)
        }
        scores[Array(board)] = (score ?? 0) + number
      }
    }
  }

  /// Counts `new` publications, or says which of them is the first that may not follow, and why.
  private func excess(ofPublications new: Int, in transaction: EventTransaction) -> (n: Int, message: String)? {
    let others = publications + transaction.sum(besides: self) { $0.publications }
    let most = transaction.event.mayPublish
    guard others + new > most else {
      publications += new
      return nil
    }
    if !transaction.event.isDryRun { plugin.sender(in: transaction.context.senders).noteStop() }
    return (
      max(0, most - others),
      "\(others + new) publications would follow where \(most) more may: "
        + "\(Limits.publicationsPerCascade) may follow from one event, and the rest is divided among the messages that "
        + "an event sends, and among the members of a topic; a timer that is due in a second or later begins anew"
    )
  }

  /// Counts `new` messages, or says which of them is the first that may not follow, and why.
  private func excess(
    ofSends new: Int, in transaction: EventTransaction
  ) -> (n: Int, kind: Failure.Kind, message: String)? {
    let event = transaction.event
    guard sends + new <= Limits.messagesPerEvent else {
      return (
        Limits.messagesPerEvent - sends, .value,
        "\(sends + new) messages are sent for one event; a plugin may send \(Limits.messagesPerEvent)"
      )
    }
    let others = sends + transaction.sum(besides: self) { $0.sends }
    guard event.hops >= Limits.messageHops || others + new > event.maySend else {
      sends += new
      return nil
    }
    if !event.isDryRun { plugin.sender(in: transaction.context.senders).noteStop() }
    guard event.hops < Limits.messageHops else {
      return (0, .cycle, "a message that follows from more than \(Limits.messageHops) others is not sent")
    }
    return (
      max(0, event.maySend - others), .cycle,
      "\(others + new) messages would follow where \(event.maySend) more may: \(Limits.messagesPerCascade) may follow from "
        + "one event, and the rest is divided among the messages that an event sends"
    )
  }
}

extension Operation {
  /// About how many bytes it adds to an outcome; 0 unless it is a decision or an effect.
  fileprivate var outcomeBytes: Int {
    switch self {
    case .decide(let name, let value): name.count + value.count + 64
    case .emit(let effect): effect.id.count + effect.sink.count + effect.type.count + effect.data.count + 128
    default: 0
    }
  }
}
