import CLinux
import Glibc

/// A thread that runs one function to its end, in the background: commits and rules go first.
final class DrainThread {
  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  private var thread = pthread_t()

  /// Begins to run `body`; throws when the system lets the process start no thread.
  init(_ body: @escaping () -> Void) throws(StoreError) {
    let start = Unmanaged.passRetained(Body(body))
    let result = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        cl_name_thread("ruled-drain")
        cl_lower_priority()
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, start.toOpaque())
    guard result == 0 else {
      start.release()
      throw StoreError.system("the store's thread can't be started; raise TasksMax= of the unit, or ulimit -u", result)
    }
  }

  /// Waits until the function has returned.
  func join() { pthread_join(thread, nil) }
}
