import CLinux
import Glibc

/// A thread that runs one function to its end, in the background: commits and rules go first.
final class DrainThread {
  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  private var thread = pthread_t()

  /// Begins to run `body`.
  init(_ body: @escaping () -> Void) {
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    let result = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        cl_name_thread("ruled-drain")
        cl_lower_priority()
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context)
    precondition(result == 0, "pthread_create: \(result)")
  }

  /// Waits until the function has returned.
  func join() { pthread_join(thread, nil) }
}
