internal import CUV

/// Reports when a descriptor can be read or written.
///
/// The descriptor remains its owner's.
package final class DescriptorPoll: LoopHandle {
  package struct Events: OptionSet {
    /// The bits as libuv numbers them; `failed` is none of libuv's.
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// There is something to read, or the peer has ended.
    package static let readable = Events(rawValue: 1)
    package static let writable = Events(rawValue: 2)
    /// An error is pending on the descriptor; polling has stopped.
    package static let failed = Events(rawValue: 1 << 16)
  }

  private var body: ((Events) -> Void)?
  private var interest: Events = []

  /// A poll that waits for nothing yet; the descriptor is made non-blocking.
  package init(on loop: EventLoop, _ descriptor: Int32, _ body: @escaping (Events) -> Void) throws(SystemError) {
    self.body = body
    try super.init(uv_poll_t.self, on: loop, call: "uv_poll_init", context: "descriptor \(descriptor)") {
      uv_poll_init($0, $1, descriptor)
    }
  }

  /// Waits for exactly these events from now on.
  package func wait(for events: Events) {
    loop.assertOnLoop()
    guard events != interest, !isClosed else { return }
    interest = events
    let handle = pointer(uv_poll_t.self)
    if events.isEmpty {
      uv_poll_stop(handle)
    } else {
      let status = uv_poll_start(handle, events.rawValue) {
        DescriptorPoll.owner(of: $0?.pointee.data)?.report($1, $2)
      }
      precondition(status == 0, "polling an open descriptor failed")
    }
  }

  override func didClose() { body = nil }

  private func report(_ status: Int32, _ events: Int32) {
    loop.beginTick()
    if status < 0 {
      interest = []
      body?(.failed)
    } else {
      body?(Events(rawValue: events))
    }
  }
}
