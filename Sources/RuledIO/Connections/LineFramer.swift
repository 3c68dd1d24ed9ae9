internal import Glibc
import RuledCore

/// Cuts a stream of bytes into lines without copying: `fill` reads bytes into the buffer, and lines are views of it.
///
/// The buffer grows with the longest line, up to the limit and the room of one read. The `padding` bytes after the last byte can always be read,
/// as parsers that load whole vectors need.
package final class LineFramer {
  /// The bytes after a line that can be read.
  package static let padding = 64
  /// The size of a new buffer in bytes, and the room for one read beyond the longest line.
  static let readBytes = 64 << 10

  enum Item {
    /// A line without its newline; valid until the next call of `fill`.
    case line(ByteView)
    case skipped(SkipReason)
  }

  package enum SkipReason {
    case tooLong
    /// The memory that all connections share for long lines is used up.
    case outOfMemory
  }

  private let limit: Int
  private var base: UnsafeMutableRawPointer
  private(set) var capacity: Int
  private var start = 0
  private var scanned = 0
  private var end = 0
  private var isSkipping = false
  private var isOutOfMemory = false
  private let memory: MemoryBudget
  private let changes = ByteChanges()

  /// A framer for lines of at most `limit` bytes.
  ///
  /// Memory beyond `readBytes` is counted in `memory`.
  init(limit: Int, memory: MemoryBudget) {
    self.limit = limit
    self.memory = memory
    capacity = Self.readBytes
    base = Self.allocate(capacity)
  }

  deinit {
    changes.endViews()
    base.deallocate()
    memory.release(capacity - Self.readBytes)
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutableRawPointer {
    let base = UnsafeMutableRawPointer.allocate(byteCount: capacity + padding, alignment: 64)
    (base + capacity).initializeMemory(as: UInt8.self, repeating: 0, count: padding)
    return base
  }

  var isGrown: Bool { capacity > Self.readBytes }

  /// Whether no byte of an incomplete line is buffered.
  var isEmpty: Bool { start == end && !isSkipping }

  /// Buffers the bytes that `body` writes into a span with room for at least 16 KiB.
  ///
  /// May move the buffered bytes.
  func fill<Result>(_ body: (inout OutputRawSpan) -> Result) -> Result {
    changes.endViews()
    if start == end {
      start = 0
      scanned = 0
      end = 0
    }
    if capacity - end < Self.readBytes / 4 { makeRoom() }
    let free = UnsafeMutableRawBufferPointer(start: base + end, count: capacity - end)
    var span = OutputRawSpan(buffer: free, initializedCount: 0)
    let result = body(&span)
    end += span.finalize(for: free)
    return result
  }

  /// The next complete line, or nil when more bytes are needed.
  ///
  /// Blank lines are skipped silently.
  func cutLine() -> Item? {
    if isOutOfMemory {
      isOutOfMemory = false
      return .skipped(.outOfMemory)
    }
    while scanned < end {
      guard let found = memchr(base + scanned, Int32(UInt8(ascii: "\n")), end - scanned) else {
        scanned = end
        break
      }
      let newline = UnsafeRawPointer(found) - UnsafeRawPointer(base)
      let line = ByteView(start: base + start, count: newline - start, until: changes)
      start = newline + 1
      scanned = start
      if isSkipping {
        isSkipping = false
      } else if line.count > limit {
        return .skipped(.tooLong)
      } else if !Self.isBlank(line) {
        return .line(line)
      }
    }
    if isSkipping {
      start = end
    } else if end - start > limit {
      isSkipping = true
      start = end
      return .skipped(.tooLong)
    }
    return nil
  }

  /// The last line of the input, if it has no newline.
  ///
  /// To be called after `cutLine` returned nil.
  func lastLine() -> Item? {
    let line = ByteView(start: base + start, count: end - start, until: changes)
    start = end
    scanned = end
    isSkipping = false
    return Self.isBlank(line) ? nil : .line(line)
  }

  private static func isBlank(_ line: ByteView) -> Bool { line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } }

  private func makeRoom() {
    let unread = end - start
    let wanted =
      unread + Self.readBytes / 4 > capacity ? min(capacity * 2, max(limit, unread) + Self.readBytes) : capacity
    if wanted > capacity, !memory.reserve(wanted - capacity) {
      start = 0
      scanned = 0
      end = 0
      isSkipping = true
      isOutOfMemory = true
      return
    }
    if wanted > capacity {
      let grown = Self.allocate(wanted)
      grown.copyMemory(from: base + start, byteCount: unread)
      base.deallocate()
      base = grown
      capacity = wanted
    } else if start > 0 {
      base.copyMemory(from: base + start, byteCount: unread)
    }
    scanned -= start
    end = unread
    start = 0
  }
}
