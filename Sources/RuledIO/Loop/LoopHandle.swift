internal import CUV
internal import Glibc

/// The common base of this program's libuv handles: memory, loop and end.
///
/// An open handle keeps its owner alive. After `close`, libuv calls back once it is done with the memory, and the owner is released.
package class LoopHandle {
  let loop: EventLoop
  private(set) var isClosed = false
  private let memory: UnsafeMutableRawPointer

  /// Allocates a handle and lets `start` initialise it on the loop.
  init<Handle>(
    _ type: Handle.Type, on loop: EventLoop, call: String, context: String,
    _ start: (UnsafeMutablePointer<uv_loop_t>, UnsafeMutablePointer<Handle>) -> Int32
  ) throws(SystemError) {
    loop.assertOnLoop()
    let handle = UnsafeMutablePointer<Handle>.allocate(capacity: 1)
    let status = start(loop.raw, handle)
    guard status == 0 else {
      handle.deallocate()
      throw SystemError(uv: status, call: call, context: context)
    }
    self.loop = loop
    memory = UnsafeMutableRawPointer(handle)
    uv_handle_set_data(raw, Unmanaged.passRetained(self).toOpaque())
  }

  /// The handle as libuv's base type.
  var raw: UnsafeMutablePointer<uv_handle_t> { memory.assumingMemoryBound(to: uv_handle_t.self) }

  /// The handle as the type that it was made with.
  func pointer<Handle>(_ type: Handle.Type) -> UnsafeMutablePointer<Handle> { memory.assumingMemoryBound(to: type) }

  /// Ends the handle: its closure is not called again.
  ///
  /// Closing twice is harmless.
  package func close() {
    loop.assertOnLoop()
    guard !isClosed else { return }
    isClosed = true
    didClose()
    uv_close(raw) { handle in
      guard let handle, let data = handle.pointee.data else { return }
      Unmanaged<LoopHandle>.fromOpaque(data).release()
      UnsafeMutableRawPointer(handle).deallocate()
    }
  }

  /// Drops closures, so that no reference cycle outlives the handle.
  func didClose() {}

  /// The owner of a handle that libuv calls back for.
  static func owner(of data: UnsafeMutableRawPointer?) -> Self? {
    guard let data else { return nil }
    return Unmanaged<Self>.fromOpaque(data).takeUnretainedValue()
  }
}
