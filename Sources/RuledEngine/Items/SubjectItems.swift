import RuledCore
import RuledJournal
import RuledLua

/// What is stored of subjects beside their records: `once` keys, effects to deliver, timers, messages and places on
/// boards.
final class SubjectItems {
  let onceKeys: OnceKeys
  let effects: EffectWriter
  let timers: TimerTable
  let messages: MessageTable
  let places: SubjectPlaces

  init(_ context: EngineContext, batches: BatchQueue, plugins: WorkerPlugins) {
    onceKeys = OnceKeys(batches: batches)
    effects = EffectWriter(context, batches: batches, onceKeys: onceKeys)
    timers = TimerTable(context, batches: batches, plugins: plugins)
    messages = MessageTable(context, batches: batches, plugins: plugins)
    places = SubjectPlaces(context, batches: batches)
  }

  /// Adds what a plugin's rules asked for to the batch.
  ///
  /// `maySend` messages may follow from each that is sent. `timers` are the bounds of timers that are set, `redacted` the values that the
  /// journal redacts in the event.
  func write(
    _ operations: Operations, of plugin: WorkerPlugin, _ event: EventInput, subject: Subject, maySend: Int,
    timers bounds: TimerTable.Bounds, cascade: Cascade?, redacted: RedactedValues?
  ) throws(RequestError) {
    let entry = plugin.entry
    var recorded = 0
    for index in operations.indices where !operations.isVoid(at: index) {
      switch operations[index] {
      case .emit(let effect): try effects.write(effect, of: entry, event, subject: subject)
      case .send(let target, let type, let data):
        messages.send(
          to: target, type: type, data: data, number: index - recorded, of: plugin, event, maySend: maySend,
          cascade: cascade, redacted: redacted)
      case .once(let key, let lifetime):
        onceKeys.claim(key, for: lifetime, of: entry.name, subject: subject, now: event.now)
      case .setTimer(let name, let type, let data, let due, let schedule):
        let rule = operations.rule(at: index)
        try timers.set(
          name, type: type, data: data, due: due, schedule: schedule, of: entry, rule: rule, event, subject: subject,
          maySend: maySend,
          bounds, redacted: redacted)
      case .cancelTimer(let name): try timers.cancel(name, of: entry.name, subject: subject)
      case .forget:
        try timers.removeAll(of: entry.name, subject: subject)
        try onceKeys.removeAll(of: entry.name, subject: subject)
        try places.removeAll(of: entry.name, subject: subject, now: event.now)
      case .place(let board, let placing, let options):
        try places.write(
          placing, on: board, options.map { Board.Options(leastFirst: $0.isLow, keep: $0.keep) }, of: entry.name,
          subject: subject, now: event.now)
      case .read, .part: recorded += 1
      case .decide, .shadowed, .raise, .count, .log: break
      }
    }
  }
}
