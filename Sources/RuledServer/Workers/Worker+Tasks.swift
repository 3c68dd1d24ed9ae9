import RuledCore
import RuledEngine

/// What other threads have a worker do for its subjects.
extension Worker {
  /// Fires a timer; ends `cascade` when that is durable.
  func fire(_ timer: DueTimer, _ cascade: Cascade) {
    do throws(RequestError) { try evaluator.fire(timer, cascade: cascade) } catch {
      _ = services.control.send(.perform { $0.timers.couldNotFire(timer, error) })
    }
    evaluator.batch.awaited.append(cascade)
  }

  /// Tries a parked event again; nil when it is no longer parked.
  func retry(_ key: ParkedKey) -> Result<RetryResult?, RequestError> {
    do throws(RequestError) { return .success(try evaluator.retry(key)) } catch { return .failure(error) }
  }

  /// Drops a parked event; false when it is no longer parked.
  func drop(_ key: ParkedKey) -> Result<Bool, RequestError> {
    do throws(RequestError) { return .success(try evaluator.drop(key)) } catch { return .failure(error) }
  }
}
