internal import CUV
internal import Synchronization

/// Lets any thread make a loop call a closure; several wakes before it runs are one.
package final class LoopWake: LoopHandle, @unchecked Sendable {  // body is the loop's, the open flag has its mutex
  private var body: (() -> Void)?
  private let isOpen = Mutex(true)

  /// A wake whose closure runs on `loop`.
  package init(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) {
    self.body = body
    try super.init(uv_async_t.self, on: loop, call: "uv_async_init", context: "wake-up") {
      uv_async_init($0, $1, loopWoken)
    }
  }

  /// Makes the loop call the closure soon; safe from every thread, without effect once closed.
  package func wake() {
    isOpen.withLock { if $0 { uv_async_send(pointer(uv_async_t.self)) } }
  }

  override func didClose() {
    isOpen.withLock { $0 = false }
    body = nil
  }

  fileprivate func woken() { body?() }
}

private func loopWoken(_ handle: UnsafeMutablePointer<uv_async_t>?) {
  LoopWake.owner(of: handle?.pointee.data)?.woken()
}
