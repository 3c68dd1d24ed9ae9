/// Reports changes of a folder tree, once per burst of changes.
///
/// Symbolic links are followed while they stay in the tree. The watcher also notices when the folder itself is replaced, renamed or made. It updates
/// its watches before each report, so that the listener never reads a tree older than the watched one.
package final class DirectoryWatcher {
  /// The milliseconds without a change that end a burst.
  static let quietTime: UInt64 = 50
  /// The milliseconds after which a burst is reported even if it continues.
  static let longestBurst: UInt64 = 500

  private let root: String
  private let loop: EventLoop
  private let inotify: Inotify
  private var poll: DescriptorPoll?
  private var timer: LoopTimer?
  private var burstStart: UInt64?
  private var body: (() -> Void)?

  /// Whether the tree has more folders than are watched.
  package private(set) var isTruncated = false

  /// Why some folder is not watched, or nil.
  package var failure: SystemError? { inotify.failure }

  /// Whether every change so far has been reported, or is of no interest.
  var isQuiet: Bool { burstStart == nil && !inotify.hasUnreadEvents }

  /// Watches the tree at `root`, which need not exist yet, until `close`, and calls `body` after each burst of changes.
  package init(on loop: EventLoop, root: String, changed body: @escaping () -> Void) throws(SystemError) {
    self.root = root
    self.loop = loop
    self.body = body
    inotify = try Inotify()
    timer = try LoopTimer(on: loop) { [self] in report() }
    poll = try DescriptorPoll(on: loop, inotify.descriptor) { [self] _ in readEvents() }
    poll?.wait(for: .readable)
    updateWatches()
  }

  func close() {
    poll?.close()
    timer?.close()
    poll = nil
    timer = nil
    body = nil
  }

  /// Watches the tree as it is now.
  ///
  /// A folder may appear between reading the tree and watching it, so this repeats, up to 8 times, until the tree stays the same.
  private func updateWatches() {
    var plan = WatchPlan(root: root)
    for _ in 0..<8 {
      inotify.apply(plan)
      let next = WatchPlan(root: root)
      if next == plan { break }
      plan = next
    }
    isTruncated = plan.isTruncated
  }

  private func readEvents() {
    guard inotify.readEvents() else { return }
    let start = burstStart ?? loop.now
    burstStart = start
    let remaining = Self.longestBurst - min(loop.now - start, Self.longestBurst)
    timer?.start(after: min(Self.quietTime, remaining))
  }

  private func report() {
    burstStart = nil
    updateWatches()
    body?()
  }
}
