import RuledCore
import RuledEngine

/// Sinks that take many effects at a time: a file of JSON lines, and the log.
extension OutboxService {
  /// How many bytes of lines are written and made durable together.
  private static let chunk = 1 << 20

  /// Appends what is there to the sink's file, durable before it leaves the store.
  func append(_ sink: Sink, to file: SinkFile, _ now: UInt64) {
    for lane in sink.lanes {
      var keys = lane.all(now: now)[...]
      let lines = ByteBuffer(capacity: keys.isEmpty ? 0 : 4096)
      while !keys.isEmpty {
        var taken: [(key: EffectKey, isThere: Bool)] = []
        lines.removeAll()
        while lines.count < Self.chunk, let key = keys.popFirst() {
          guard !lane.waits(key) else { continue }
          switch fetch(key) {
          case .found(let effect):
            sink.unreadable.remove(key)
            effect.emitted(value.bytes).withUnsafeBytes { lines.append($0) }
            lines.append(UInt8(ascii: "\n"))
            taken.append((key, true))
          case .gone:
            sink.unreadable.remove(key)
            taken.append((key, false))
          case .unreadable: postpone(key, of: sink, lane, now)
          }
        }
        do throws(SystemError) {
          if lines.count > 0 { try file.append(lines) }
        } catch {
          sink.figures.countRetried()
          log(.error, "the effects of the sink '\(sink.name)' can't be written, they wait: \(error)")
          lane.failed(now: now, settings.backoff, atOnce: true)
          break
        }
        lane.succeeded()
        for (key, isThere) in taken {
          lane.finished(key)
          if isThere { remove(key, of: sink) }
        }
        sink.figures.countDelivered(taken.count { $0.isThere })
      }
    }
  }

  /// Notes what is there in the log, without its data.
  func note(_ sink: Sink, _ now: UInt64) {
    for lane in sink.lanes {
      for key in lane.all(now: now) {
        guard !lane.waits(key) else { continue }
        switch fetch(key) {
        case .unreadable:
          postpone(key, of: sink, lane, now)
          continue
        case .gone: break
        case .found(let effect):
          let fields = JSONValue.object([
            "sink": .string(sink.name), "type": .string(effect.type), "effect_id": .string(effect.id),
          ])
          services.context.log.write(
            LogLine(.info, "effect", plugin: effect.plugin, subjectHash: Self.hash(key.subject), fields: fields.text))
          sink.figures.countDelivered()
          remove(key, of: sink)
        }
        sink.unreadable.remove(key)
        lane.finished(key)
      }
    }
  }

  /// Lets an effect that can't be read wait, and the later ones of its subject with it.
  private func postpone(_ key: EffectKey, of sink: Sink, _ lane: Lane, _ now: UInt64) {
    sink.unreadable.insert(key)
    lane.postpone(key) { now + settings.backoff.delay(after: $0) }
  }
}
