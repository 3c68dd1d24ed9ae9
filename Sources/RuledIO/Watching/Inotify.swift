internal import Glibc
internal import RuledCore

/// An inotify instance whose watches are set as a whole: inotify(7).
final class Inotify {
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
        if hasEventOfInterest(ByteView(buffer).extracting(..<count)) { hasInterest = true }
      }
    }
    return hasInterest
  }

  private func hasEventOfInterest(_ bytes: ByteView) -> Bool {
    var (offset, isFound) = (0, false)
    while offset < bytes.count, !isFound {
      let watch = bytes.load(at: offset, as: Int32.self)
      let mask = bytes.load(at: offset + 4, as: UInt32.self)
      let start = offset + MemoryLayout<inotify_event>.size
      offset = start + Int(bytes.load(at: offset + 12, as: UInt32.self))
      isFound = isOfInterest(watch, mask, bytes[start..<offset].prefix { $0 != 0 }.text)
    }
    return isFound
  }

  /// Whether an event is of interest: of a watch, with the bits of inotify(7), and with the name in the watched folder, empty for the folder itself.
  private func isOfInterest(_ watch: Int32, _ mask: UInt32, _ name: String) -> Bool {
    if mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
    guard mask & UInt32(IN_IGNORED) == 0, let interest = interests[watch] else { return false }
    if name.isEmpty { return interest.isWhole || mask & Self.goneMask != 0 }
    return interest.names.contains(name) || (interest.isWhole && !FolderFiles.isIgnored(name))
  }
}
