import Glibc

/// Runs `body` on a thread of its own with the stack that a worker has, and waits for it.
func onLargeStack(_ body: @escaping () -> Void) {
  let work = Unmanaged.passRetained(Work(body))
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  pthread_attr_setstacksize(&attributes, 16 << 20)
  var thread = pthread_t()
  precondition(pthread_create(&thread, &attributes, runWork, work.toOpaque()) == 0, "there is no thread left")
  pthread_join(thread, nil)
  pthread_attr_destroy(&attributes)
}

private final class Work {
  let body: () -> Void

  init(_ body: @escaping () -> Void) { self.body = body }
}

private func runWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
  return nil
}
