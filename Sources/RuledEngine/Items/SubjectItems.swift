import RuledCore
import RuledJournal
import RuledLua

/// The stored data of subjects beside their records: `once` keys, effects to deliver, timers, messages, memberships and places on boards.
final class SubjectItems {
  let onceKeys: OnceKeys
  let effects: EffectWriter
  let timers: TimerTable
  let messages: MessageTable
  let places: SubjectPlaces
  let topics: TopicTable
  private let batches: BatchQueue

  init(_ context: EngineContext, batches: BatchQueue, plugins: WorkerPlugins) {
    onceKeys = OnceKeys(batches: batches)
    effects = EffectWriter(context, batches: batches, onceKeys: onceKeys)
    timers = TimerTable(context, batches: batches, plugins: plugins)
    topics = TopicTable(batches)
    messages = MessageTable(context, batches: batches, plugins: plugins, topics: topics)
    places = SubjectPlaces(context, batches: batches)
    self.batches = batches
  }

  /// Adds the operations of a plugin's rules to the batch.
  ///
  /// `allowance` may follow from each message that is sent. `timers` are the bounds of timers that are set, `redacted` the values that the
  /// journal redacts in the event.
  func applyOperations(
    _ operations: Operations, of plugin: WorkerPlugin, _ event: EventInput, subject: Subject, allowance: Allowance,
    timers bounds: TimerTable.Bounds, cascade: Cascade?, redacted: RedactedValues?
  ) throws(RequestError) {
    let loaded = plugin.loaded
    var recorded = 0
    var published: [TopicChange] = []
    lazy var isPublishing = messages.isPublishing(event.subject)
    for index in operations.indices where !operations.isVoid(at: index) {
      switch operations[index] {
      case .emit(let effect): try effects.write(effect, of: loaded, event, subject: subject)
      case .send(let target, let type, let data):
        let message = MessageTable.Draft(
          type: type, data: data, number: index - recorded, allowance: allowance, cascade: cascade, redacted: redacted)
        if !published.isEmpty || isPublishing {
          published.append(messages.sendBehind(message, to: target, of: plugin, event))
        } else {
          messages.send(message, to: target, of: plugin, event)
        }
      case .publish(let topic, let type, let data, let except):
        let message = MessageTable.Draft(
          type: type, data: data, number: index - recorded, allowance: allowance, cascade: cascade, redacted: redacted)
        published.append(messages.publish(message, to: topic, except: except, of: plugin, event))
      case .joinTopic(let name): try topics.join(name, of: loaded.name, subject)
      case .leaveTopic(let name): try topics.leave(name, of: loaded.name, subject)
      case .once(let key, let lifetime):
        onceKeys.claim(key, for: lifetime, of: loaded.name, subject: subject, now: event.now)
      case .setTimer(let name, let type, let data, let due, let schedule):
        let rule = operations.rule(at: index)
        try timers.set(
          name, type: type, data: data, due: due, schedule: schedule, of: loaded, rule: rule, event, subject: subject,
          allowance, bounds, redacted: redacted)
      case .cancelTimer(let name): try timers.cancel(name, of: loaded.name, subject: subject)
      case .forget:
        try timers.removeAll(of: loaded.name, subject: subject)
        try onceKeys.removeAll(of: loaded.name, subject: subject)
        try topics.leaveAll(of: loaded.name, subject)
        try places.removeAll(of: loaded.name, subject: subject, now: event.now)
      case .place(let board, let placing, let options):
        try places.write(
          placing, on: board, options.map { Board.Options(leastFirst: $0.isLow, keep: $0.keep) }, of: loaded.name,
          subject: subject, now: event.now)
      case .read, .part: recorded += 1
      case .decide, .shadowed, .raise, .count, .log, .forgetPast: break
      }
    }
    // After the memberships: a subject that joins with the event is a member when it commits.
    if !published.isEmpty { batches.current.topics += published }
  }
}
