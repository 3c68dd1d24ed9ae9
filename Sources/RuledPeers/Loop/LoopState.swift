internal import CUV
internal import Glibc

/// Something on the loop that has timeouts.
protocol Watched: AnyObject {
  /// Checks the timeouts; called ten times a second, with the loop's time in milliseconds.
  func check(now: UInt64)
  /// Ends it, because the loop stops.
  func shutDown()
}

/// The libuv loop of a `PeerLoop`, confined to its thread.
///
/// One iteration is a tick. At its end, before the loop waits for input, each connection with output is flushed once.
final class LoopState {
  /// How often timeouts are checked, in milliseconds.
  static let interval: UInt64 = 100
  /// The most descriptors that libuv opens for its first loop: two pipes for signals, two of epoll, an eventfd.
  private static let descriptors = 8

  let raw = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
  /// The memory that all streams read into, one at a time.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
  private let inbox: LoopInbox
  private let poll = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
  private let prepare = UnsafeMutablePointer<uv_prepare_t>.allocate(capacity: 1)
  private let timer = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
  private var watched: [ObjectIdentifier: any Watched] = [:]
  private var unflushed: [PeerConnection] = []

  /// Makes a loop that executes what is posted to `inbox`.
  ///
  /// - Throws: `.system` when memory or descriptors have run out.
  init(_ inbox: LoopInbox) throws(PeerError) {
    self.inbox = inbox
    try Self.checkDescriptors()
    var status = uv_loop_init(raw)
    guard status == 0 else { throw .system("uv_loop_init", number: -status) }
    status = uv_poll_init(raw, poll, inbox.counter)
    guard status == 0 else {
      uv_loop_close(raw)
      throw .system("uv_poll_init", number: -status)
    }
    uv_prepare_init(raw, prepare)
    uv_timer_init(raw, timer)
  }

  /// Throws if the process can't open the few descriptors of a loop: libuv ends the process if it has none for its first one.
  private static func checkDescriptors() throws(PeerError) {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    for _ in 0..<descriptors {
      let descriptor = eventfd(0, Int32(EFD_CLOEXEC))
      guard descriptor >= 0 else { throw .system("eventfd", number: errno) }
      opened.append(descriptor)
    }
  }

  deinit {
    poll.deallocate()
    prepare.deallocate()
    timer.deallocate()
    scratch.deallocate()
    raw.deallocate()
  }

  /// Runs until `stop`.
  func run() {
    let data = Unmanaged.passUnretained(self).toOpaque()
    poll.pointee.data = data
    prepare.pointee.data = data
    timer.pointee.data = data
    uv_poll_start(poll, Int32(UV_READABLE.rawValue), loopWasPosted)
    uv_prepare_start(prepare, loopTickEnded)
    uv_timer_start(timer, loopTimeCame, Self.interval, Self.interval)
    uv_run(raw, UV_RUN_DEFAULT)
    let status = uv_loop_close(raw)
    precondition(status == 0, "a loop was closed with handles open")
    _ = inbox.close()
  }

  /// Ends everything on the loop, and then the loop.
  func stop() {
    for body in inbox.close() { body(self) }
    for one in watched.values { one.shutDown() }
    watched = [:]
    flush()
    for handle in [UnsafeMutableRawPointer(poll), UnsafeMutableRawPointer(prepare), UnsafeMutableRawPointer(timer)] {
      uv_close(handle.assumingMemoryBound(to: uv_handle_t.self), nil)
    }
  }

  /// The loop's time in milliseconds from an arbitrary start.
  var now: UInt64 { uv_now(raw) }

  /// Checks the timeouts of `one` until `unwatch`.
  func watch(_ one: any Watched) { watched[ObjectIdentifier(one)] = one }

  func unwatch(_ one: any Watched) { watched[ObjectIdentifier(one)] = nil }

  /// Flushes a connection at the end of the tick.
  func flushLater(_ connection: PeerConnection) { unflushed.append(connection) }

  fileprivate func runPosted() { for body in inbox.take() { body(self) } }

  fileprivate func checkTimes() { for one in watched.values { one.check(now: now) } }

  fileprivate func flush() {
    while !unflushed.isEmpty {
      let connections = unflushed
      unflushed = []
      for connection in connections { connection.flush() }
    }
  }
}

private func loopState(_ data: UnsafeMutableRawPointer?) -> LoopState? {
  data.map { Unmanaged<LoopState>.fromOpaque($0).takeUnretainedValue() }
}

private func loopWasPosted(_ handle: UnsafeMutablePointer<uv_poll_t>?, _ status: Int32, _ events: Int32) {
  loopState(handle?.pointee.data)?.runPosted()
}

private func loopTickEnded(_ handle: UnsafeMutablePointer<uv_prepare_t>?) { loopState(handle?.pointee.data)?.flush() }

private func loopTimeCame(_ handle: UnsafeMutablePointer<uv_timer_t>?) { loopState(handle?.pointee.data)?.checkTimes() }
