import Synchronization

/// What a reply with `wait: "cascade"` waits for: the messages of its event, and theirs in turn.
package final class Cascade: Sendable {
  private let pending = Atomic<Int>(1)
  private let lostSome = Atomic<Bool>(false)
  private let finish: @Sendable (_ isWhole: Bool) -> Void

  /// A cascade that calls `finish` once, on whatever thread ends it.
  package init(finish: @escaping @Sendable () -> Void) { self.finish = { _ in finish() } }

  /// A cascade that calls `finish` once, on whatever thread ends it, and says whether all of it was committed.
  package init(finish: @escaping @Sendable (_ isWhole: Bool) -> Void) { self.finish = finish }

  /// Another message belongs to it.
  package func began() { pending.wrappingAdd(1, ordering: .relaxed) }

  /// A part of it ended without being committed.
  package func lost() {
    lostSome.store(true, ordering: .releasing)
    ended()
  }

  /// A message, or the event itself, is committed.
  package func ended() {
    if pending.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
      finish(!lostSome.load(ordering: .acquiring))
    }
  }
}
