internal import Glibc
internal import RuledCore

/// An inotify instance whose watches are set as a whole: inotify(7).
final class Inotify {
  struct Event {
    /// The watch, or -1 for the overflow of the kernel's queue.
    let watch: Int32
    /// The bits of inotify(7).
    let mask: UInt32
    /// The name in the watched folder; empty for the folder itself.
    let name: String
  }

  /// The descriptor; non-blocking.
  let descriptor: Int32
  /// The first failure of the last `apply`, such as too many watches.
  private(set) var failure: SystemError?
  private var interests: [Int32: WatchPlan.Interest] = [:]

  /// Whether the kernel holds events that have not been read: FIONREAD.
  var hasUnreadEvents: Bool {
    var count: Int32 = 0
    return ioctl(descriptor, UInt(FIONREAD), &count) == 0 && count > 0
  }

  private static let mask = UInt32(
    IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB
      | IN_ONLYDIR)
  private static let goneMask = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)

  /// An instance without watches: inotify_init1(2).
  init() throws(SystemError) {
    let flags = Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)
    descriptor = try SystemCalls.check("inotify_init1", "watching the rules folder") { inotify_init1(flags) }
  }

  deinit { SystemCalls.close(descriptor) }

  /// Watches the entries of the plan and nothing else.
  ///
  /// A watched folder stays watched without a gap.
  func apply(_ plan: WatchPlan) {
    var wanted: [Int32: WatchPlan.Interest] = [:]
    failure = nil
    for (path, interest) in plan.interests {
      let (watch, number) = SystemCalls.retrying { inotify_add_watch(descriptor, path, Self.mask) }
      if number == 0 {
        wanted[watch, default: WatchPlan.Interest()].formUnion(interest)
      } else if number != ENOENT, number != ENOTDIR, failure == nil {
        failure = SystemError(number, call: "inotify_add_watch", context: path)
      }
    }
    for watch in interests.keys where wanted[watch] == nil { _ = inotify_rm_watch(descriptor, watch) }
    interests = wanted
  }

  /// Reads all available events; true if one of them is of interest.
  func readEvents() -> Bool {
    var hasInterest = false
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
      while true {
        let (count, number) = SystemCalls.retrying { read(descriptor, buffer.baseAddress, buffer.count) }
        guard number == 0, count > 0 else { return }
        Self.forEachEvent(in: ByteView(buffer).extracting(..<count)) { event in
          if isOfInterest(event) { hasInterest = true }
        }
      }
    }
    return hasInterest
  }

  private func isOfInterest(_ event: Event) -> Bool {
    if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
    guard event.mask & UInt32(IN_IGNORED) == 0, let interest = interests[event.watch] else { return false }
    if event.name.isEmpty { return interest.isWhole || event.mask & Self.goneMask != 0 }
    return interest.names.contains(event.name) || (interest.isWhole && !FolderFiles.isIgnored(event.name))
  }

  private static func forEachEvent(in bytes: ByteView, _ body: (Event) -> Void) {
    let head = MemoryLayout<inotify_event>.size
    var offset = 0
    while offset + head <= bytes.count {
      let watch = bytes.load(at: offset, as: Int32.self)
      let mask = bytes.load(at: offset + 4, as: UInt32.self)
      let length = Int(bytes.load(at: offset + 12, as: UInt32.self))
      let name = bytes[offset + head..<offset + head + length].prefix { $0 != 0 }
      body(Event(watch: watch, mask: mask, name: String(decoding: name, as: UTF8.self)))
      offset += head + length
    }
  }
}
