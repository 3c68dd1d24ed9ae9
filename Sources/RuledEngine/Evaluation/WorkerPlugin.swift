import RuledCore
import RuledLua

/// A plugin on one worker: its VM, and its data that lasts from event to event.
final class WorkerPlugin {
  /// Its rules; a copy that this worker alone uses.
  let loaded: Catalog.Plugin
  /// Its index in the catalog.
  let index: Int
  /// Its VM, nil before its first event and after it was stopped.
  var vm: PluginVM?
  /// Whether its next event is run without counting instructions.
  ///
  /// This changes what an event costs, never its outcome.
  var uncounted = AttemptSkipper(fewest: 8, most: 1024)
  private var knownSender: MessageSender?

  init(_ loaded: Catalog.Plugin, index: Int, vm: PluginVM? = nil) {
    self.loaded = Catalog.Plugin(copying: loaded)
    self.index = index
    self.vm = vm
  }

  func sender(in senders: MessageSenders) -> MessageSender {
    if let knownSender { return knownSender }
    let sender = senders[loaded.name]
    knownSender = sender
    return sender
  }

  func dropDeadVM() {
    if let vm, vm.isDead { self.vm = nil }
  }
}
