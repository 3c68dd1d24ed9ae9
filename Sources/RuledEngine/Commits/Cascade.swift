import Synchronization

/// The messages of an event, their messages, and so on: a reply with `wait: "cascade"` waits for all of them.
package final class Cascade: Sendable {
  private let pending = Atomic<Int>(1)
  private let lostSome = Atomic<Bool>(false)
  /// The call that moves the manual clock and has fired its timer, if there is one.
  let move: ClockMove?
  private let finish: @Sendable (_ isWhole: Bool) -> Void

  /// A cascade of one event, which calls `finish` once, on the thread that ends it.
  package init(of move: ClockMove? = nil, finish: @escaping @Sendable () -> Void) {
    self.move = move
    self.finish = { _ in finish() }
  }

  /// A cascade of one event, which calls `finish` once, on the thread that ends it, with whether all of it was committed.
  package init(finish: @escaping @Sendable (_ isWhole: Bool) -> Void) {
    move = nil
    self.finish = finish
  }

  package func enter() { pending.wrappingAdd(1, ordering: .relaxed) }

  /// Removes the event or a message that is done.
  package func leave(isCommitted: Bool = true) {
    if !isCommitted { lostSome.store(true, ordering: .releasing) }
    if pending.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
      finish(!lostSome.load(ordering: .acquiring))
    }
  }
}
