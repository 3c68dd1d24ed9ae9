/// Tells when something in a folder tree has changed, once a burst of changes is over.
///
/// Symbolic links are followed while they stay in the tree, and replacing or renaming the folder itself is noticed, as is its appearance. Before it tells, the watcher
/// looks the tree over again, so that what the listener then reads is never older than what is watched.
package final class DirectoryWatcher {
  /// How long it must be quiet before a change is told, in milliseconds.
  package static let quiet: UInt64 = 50
  /// How long a change may wait for quiet, in milliseconds.
  package static let patience: UInt64 = 500

  private let root: String
  private let loop: EventLoop
  private let inotify: Inotify
  private var poll: DescriptorPoll?
  private var timer: LoopTimer?
  private var burstBegan: UInt64?
  private var body: (() -> Void)?

  /// Whether the tree has more folders than can be watched.
  package private(set) var isTruncated = false

  /// Why some folder is not watched, or nil.
  package var failure: SystemError? { inotify.failure }

  /// Watches the tree at `root`, which need not exist yet, until `close`.
  package init(on loop: EventLoop, root: String, changed body: @escaping () -> Void) throws(SystemError) {
    self.root = root
    self.loop = loop
    self.body = body
    inotify = try Inotify()
    timer = try LoopTimer(on: loop) { [self] in tell() }
    poll = try DescriptorPoll(on: loop, inotify.descriptor) { [self] _ in noticed() }
    poll?.wait(for: .readable)
    look()
  }

  /// Ends the watching.
  package func close() {
    poll?.close()
    timer?.close()
    poll = nil
    timer = nil
    body = nil
  }

  /// Watches the tree as it is, until what is watched is what is there: a folder may come between the looking and the watching.
  private func look() {
    var plan = WatchPlan(root: root)
    for _ in 0..<8 {
      inotify.apply(plan)
      let next = WatchPlan(root: root)
      if next == plan { break }
      plan = next
    }
    isTruncated = plan.isTruncated
  }

  private func noticed() {
    guard inotify.drain() else { return }
    let began = burstBegan ?? loop.now
    burstBegan = began
    let waited = loop.now - began
    timer?.start(after: min(Self.quiet, Self.patience - min(waited, Self.patience)))
  }

  private func tell() {
    burstBegan = nil
    look()
    body?()
  }
}
