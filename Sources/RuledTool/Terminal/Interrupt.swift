internal import Glibc
internal import Synchronization

/// Notices that the user presses Ctrl-C, for commands that then end in an orderly way.
///
/// A second Ctrl-C ends the process as usual.
struct Interrupt {
  private static let came = Atomic<Bool>(false)

  init() {
    Self.came.store(false, ordering: .relaxed)
    _ = signal(SIGINT) { _ in
      Interrupt.came.store(true, ordering: .relaxed)
      _ = signal(SIGINT, SIG_DFL)
    }
  }

  var hasCome: Bool { Self.came.load(ordering: .relaxed) }

  func end() { _ = signal(SIGINT, SIG_DFL) }
}
