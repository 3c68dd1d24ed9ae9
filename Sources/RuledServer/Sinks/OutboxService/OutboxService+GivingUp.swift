import RuledCore
import RuledEngine
import RuledWire

/// Effects that are given up.
extension OutboxService {
  /// The effects that wait to be marked as given up.
  struct Marks {
    /// How many wait at most before all are written.
    static let most = 1_000

    /// Each effect with what is stored in its place, and its sink.
    var waiting: [(key: EffectKey, text: [UInt8], sink: String)] = []
  }

  /// Leaves an effect in the store, marked as given up, until somebody asks for another try, or the next start or reload.
  func giveUp(_ delivery: Delivery, _ failure: DeliveryFailure) {
    let key = delivery.key
    let text: [UInt8]
    switch fetch(key) {
    case .found(let effect): text = effect.emitted(value.bytes, document)
    case .gone:
      delivery.sink.ended(key)
      return complete(delivery)
    case .unreadable: return retry(delivery, failure)
    }
    delivery.sink.figures.countFailed()
    log(.error, "an effect was given up, 'rulectl effects resend' tries it again: \(failure.reason)", delivery)
    let mark = StoredEffect.Mark(
      at: EngineClock.wall.rfc3339, tries: (delivery.effect.mark?.tries ?? 0) + delivery.subject.tries + 1,
      failure: failure, after: services.context.nextSequence())
    let marked = StoredEffect.marked(text, mark)
    delivery.sink.completed.insert(key)
    delivery.sink.ended(key)
    delivery.sink.givenUp += 1
    marks.waiting.append((key, marked, delivery.sink.name))
    // All subjects that are lent to other nodes have to be taken back for that, so many are marked at once.
    if services.lending?.overview.nodes.isEmpty ?? true || marks.waiting.count >= Marks.most {
      writeMarks()
    } else if marks.waiting.count == 1 {
      timers?.marks.start(after: settings.marksDelay)
    }
    complete(delivery)
  }

  /// Has the workers of the effects' subjects mark all that wait.
  func writeMarks() {
    timers?.marks.stop()
    let (waiting, mailbox, services) = (marks.waiting, services.outbox.mailbox, services)
    marks.waiting = []
    guard !waiting.isEmpty else { return }
    services.withAllSubjects { hold in
      for (key, text, name) in waiting {
        let ended = Cascade {
          mailbox.send(.markingEnded(key, sink: name))
          withExtendedLifetime(hold) {}
        }
        services.workers[services.worker(for: key.subject)].send(
          .perform { worker in
            do throws(RequestError) { _ = try worker.evaluator.replace(key, with: text) } catch {
              worker.services.context.log.write(
                LogLine(
                  .warn, "an effect that was given up could not be marked, it is tried again: \(error.message)",
                  subjectHash: OutboxService.hash(key.subject)))
            }
            worker.evaluator.batch.awaited.append(ended)
          })
      }
    }
  }
}
