import CLuaBridge
import Glibc
package import RuledCore

/// The common parts of all VMs of one thread: the timer that stops rules at their deadline, and the time zones.
///
/// It belongs to the thread that makes it. Another thread may use it only within `runOnThread`.
package final class LuaWorker {
  let handle: OpaquePointer
  package let zones: ZoneDatabase

  /// Prepares the calling thread; traps when the kernel has no timer left, as nothing could hold a rule to its budget then.
  package init(zones: ZoneDatabase = ZoneDatabase { ZoneFiles.read($0) }) {
    guard let handle = rb_worker_new() else { fatalError("the kernel grants no timer for this thread") }
    self.handle = handle
    self.zones = zones
  }

  deinit { rb_worker_free(handle) }

  /// Runs `body` on the thread of `other`, which may run the VMs of this worker in there while this one's own thread sleeps.
  ///
  /// Deadlines are then measured in that thread's processor time.
  package func runOnThread(of other: LuaWorker, _ body: () -> Void) {
    rb_worker_run_on(handle, other.handle)
    body()
    rb_worker_run_on(handle, handle)
  }
}
