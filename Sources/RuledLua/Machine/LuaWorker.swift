import CLuaBridge
import Glibc
package import RuledCore

/// What all virtual machines of one thread share: the timer that ends rules past their deadline, and the time zones.
///
/// Made on the thread that uses it, and used there alone, unless it is lent.
package final class LuaWorker {
  let handle: OpaquePointer
  /// The time zones of this machine.
  package let zones: ZoneDatabase

  /// Prepares the calling thread; traps when the kernel has no timer left, as nothing could hold a rule to its budget then.
  package init() {
    guard let handle = rb_worker_new() else { fatalError("the kernel grants no timer for this thread") }
    self.handle = handle
    zones = ZoneDatabase { ZoneFiles.read($0) }
  }

  deinit { rb_worker_free(handle) }

  /// Runs `body` on the thread of `other`, which may use this one's machines in there: their deadlines are that thread's time.
  package func lent(to other: LuaWorker, _ body: () -> Void) {
    rb_worker_lend(handle, other.handle)
    body()
    rb_worker_lend(handle, handle)
  }
}
