import RuledStore
import Synchronization

@testable import RuledServer

/// A log that a node plays back when a test says so, or at once.
final class PlayedLog: Sendable {
  private struct State {
    var isHeld = false
    /// What was committed and is not played back.
    var log: [WriteSet] = []
    var position: Int64 = 0
    var waiting: [(position: Int64, body: @Sendable () -> Void)] = []
  }

  /// What is played back.
  let store: any StateStore
  private let state = Mutex(State())

  init(_ store: any StateStore) { self.store = store }

  /// Commits writes as one batch of the log; returns the number of batches.
  @discardableResult
  func commit(_ writes: WriteSet) -> Int64 {
    let (isHeld, end) = state.withLock { state in
      state.log.append(writes)
      return (state.isHeld, state.position + Int64(state.log.count))
    }
    if !isHeld { play() }
    return end
  }

  /// Plays nothing back until `play`.
  func hold() { state.withLock { $0.isHeld = true } }

  /// Plays back all that is committed.
  func play() {
    let due = state.withLock { state in
      state.isHeld = false
      for writes in state.log {
        do throws(StoreError) { try store.commit(writes, durable: false) } catch { fatalError("\(error)") }
        state.position += 1
      }
      state.log = []
      let due = state.waiting.filter { $0.position <= state.position }
      state.waiting.removeAll { $0.position <= state.position }
      return due
    }
    for waiting in due { waiting.body() }
  }

  /// How many batches are played back.
  var position: Int64 { state.withLock { $0.position } }

  /// The log as the node sees it.
  var playback: ShareStore.Playback {
    ShareStore.Playback(store: store) { [self] in
      position
    } whenPlayed: { [self] position, body in
      let isPlayed = state.withLock { state in
        if position > state.position { state.waiting.append((position, body)) }
        return position <= state.position
      }
      if isPlayed { body() }
    } awaitPlayed: { _ in
    } observe: { _ in
    }
  }
}
