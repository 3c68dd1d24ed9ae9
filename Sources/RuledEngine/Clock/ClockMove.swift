import Synchronization

/// A call that moves the manual clock: it fires the timers that were set before it, and those that follow from these, in their order.
///
/// Timers that others set meanwhile are left to the next call. Otherwise clients whose timers are due at once could keep a call from its end.
package final class ClockMove: Sendable {
  private struct Contents {
    /// The last timer in the order of the store that was fired.
    var last: DueTimer?
    /// Timers that follow from fired ones, and come before the last one.
    var earlier: Set<DueTimer> = []
    /// Timers that others have set.
    var left: Set<DueTimer> = []
  }

  private let contents = Mutex(Contents())

  /// The timer from which on the search for the next one goes on; nil at the beginning.
  package var last: DueTimer? { contents.withLock { $0.last } }

  /// Removes and returns the first timer that is due before the search goes on.
  package func takeEarlier() -> DueTimer? {
    contents.withLock { contents in contents.earlier.min().flatMap { contents.earlier.remove($0) } }
  }

  package func leaves(_ timer: DueTimer) -> Bool { contents.withLock { $0.left.contains(timer) } }

  package func noteFired(_ timer: DueTimer) {
    contents.withLock { $0.last = max($0.last ?? timer, timer) }
  }

  /// Notes a timer that was set; `follows` tells whether this follows from a timer that the call has fired.
  fileprivate func note(_ timer: DueTimer, follows: Bool) {
    contents.withLock { contents in
      if !follows {
        contents.left.insert(timer)
        contents.earlier.remove(timer)
      } else {
        contents.left.remove(timer)
        if let last = contents.last, timer < last { contents.earlier.insert(timer) }
      }
    }
  }
}

/// The calls under way that move the manual clock.
package final class ClockMoves: Sendable {
  private let moves = Mutex<[ClockMove]>([])

  package func begin() -> ClockMove {
    let move = ClockMove()
    moves.withLock { $0.append(move) }
    return move
  }

  package func end(_ move: ClockMove) { moves.withLock { $0.removeAll { $0 === move } } }

  /// Notes a timer that was set, which follows from a timer that `move` has fired, or from none.
  func note(_ timer: @autoclosure () -> DueTimer, of move: ClockMove?) {
    moves.withLock { moves in
      for each in moves { each.note(timer(), follows: each === move) }
    }
  }
}
