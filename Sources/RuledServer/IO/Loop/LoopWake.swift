internal import CUV
internal import Glibc

/// Lets any thread make a loop call a closure; several wakes before it runs are one.
///
/// An event counter of the kernel and not libuv's own wake-up, with which the woken thread spins until the waking one has left its system call: the
/// longer, the more the two have to share a processor.
package final class LoopWake: Sendable {
  private let counter: OwnedDescriptor
  private nonisolated(unsafe) var poll: DescriptorPoll?  // the loop's alone

  /// A wake whose closure runs on `loop`.
  package init(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) {
    let number = try SystemCalls.check("eventfd", "wake-up") {
      eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    }
    counter = OwnedDescriptor(owning: number)
    let poll = try DescriptorPoll(on: loop, number) { _ in
      var count: UInt64 = 0
      _ = SystemCalls.retrying { read(number, &count, MemoryLayout<UInt64>.size) }
      body()
    }
    poll.wait(for: .readable)
    self.poll = poll
  }

  /// Makes the loop call the closure soon; safe from every thread, without effect once closed.
  package func wake() {
    var one: UInt64 = 1
    _ = SystemCalls.retrying { write(counter.number, &one, MemoryLayout<UInt64>.size) }
  }

  /// Ends the wake: its closure is not called again; on the loop's thread.
  package func close() {
    poll?.close()
    poll = nil
  }
}
