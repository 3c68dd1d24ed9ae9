internal import Glibc

/// Cuts a stream of bytes into lines, in place: bytes are read into `space` and lines handed out where they lie.
///
/// The buffer grows with the longest line and never beyond the limit and one read. `padding` bytes behind the
/// last byte can always be read, as parsers that load whole vectors need it.
package final class LineFramer {
  /// How many bytes behind a line can be read.
  package static let padding = 64
  /// The size of a new buffer and the room beyond the longest line.
  package static let readBytes = 64 << 10

  /// What was found.
  package enum Item {
    /// A line without its newline; valid until the next call of `space`.
    case line(UnsafeRawBufferPointer)
    /// The line at this place is longer than the limit; it is skipped.
    case tooLong
    /// There is no memory left for the line at this place; it is skipped.
    case noRoom
  }

  private let limit: Int
  private var base: UnsafeMutableRawPointer
  /// How many bytes the buffer holds at most now.
  package private(set) var capacity: Int
  private var start = 0
  private var scanned = 0
  private var end = 0
  private var isSkipping = false
  private var lacksRoom = false
  private let memory: LineMemory

  /// A framer for lines of at most `limit` bytes, which takes room beyond the first read from `memory`.
  package init(limit: Int, memory: LineMemory) {
    self.limit = limit
    self.memory = memory
    capacity = Self.readBytes
    base = Self.allocate(capacity)
  }

  deinit {
    base.deallocate()
    memory.giveBack(capacity - Self.readBytes)
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutableRawPointer {
    let base = UnsafeMutableRawPointer.allocate(byteCount: capacity + padding, alignment: 64)
    (base + capacity).initializeMemory(as: UInt8.self, repeating: 0, count: padding)
    return base
  }

  /// Whether it has more room than that of one read.
  package var isGrown: Bool { capacity > Self.readBytes }

  /// Whether no byte of an unfinished line is held.
  package var isEmpty: Bool { start == end && !isSkipping }

  /// Room for the next bytes, at least 16 KiB; moves what is held.
  package func space() -> UnsafeMutableRawBufferPointer {
    if start == end {
      start = 0
      scanned = 0
      end = 0
    }
    if capacity - end < Self.readBytes / 4 { makeRoom() }
    return UnsafeMutableRawBufferPointer(start: base + end, count: capacity - end)
  }

  /// Counts `count` bytes that were written to `space` as held.
  package func advance(_ count: Int) {
    precondition(count >= 0 && end + count <= capacity)
    end += count
  }

  /// The next whole line, or nil when more bytes are needed; blank lines are passed over.
  package func next() -> Item? {
    if lacksRoom {
      lacksRoom = false
      return .noRoom
    }
    while scanned < end {
      guard let found = memchr(base + scanned, Int32(UInt8(ascii: "\n")), end - scanned) else {
        scanned = end
        break
      }
      let newline = UnsafeRawPointer(found) - UnsafeRawPointer(base)
      let line = UnsafeRawBufferPointer(start: base + start, count: newline - start)
      start = newline + 1
      scanned = start
      if isSkipping {
        isSkipping = false
      } else if line.count > limit {
        return .tooLong
      } else if !Self.isBlank(line) {
        return .line(line)
      }
    }
    if isSkipping {
      start = end
    } else if end - start > limit {
      isSkipping = true
      start = end
      return .tooLong
    }
    return nil
  }

  /// The unterminated last line at the end of the input, if there is one; to be called after `next` returned nil.
  package func last() -> Item? {
    let line = UnsafeRawBufferPointer(start: base + start, count: end - start)
    start = end
    scanned = end
    isSkipping = false
    return Self.isBlank(line) ? nil : .line(line)
  }

  private static func isBlank(_ line: UnsafeRawBufferPointer) -> Bool {
    line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
  }

  private func makeRoom() {
    let held = end - start
    let wanted = held + Self.readBytes / 4 > capacity ? min(capacity * 2, max(limit, held) + Self.readBytes) : capacity
    if wanted > capacity, !memory.take(wanted - capacity) {
      start = 0
      scanned = 0
      end = 0
      isSkipping = true
      lacksRoom = true
      return
    }
    if wanted > capacity {
      let grown = Self.allocate(wanted)
      grown.copyMemory(from: base + start, byteCount: held)
      base.deallocate()
      base = grown
      capacity = wanted
    } else if start > 0 {
      base.copyMemory(from: base + start, byteCount: held)
    }
    scanned -= start
    end = held
    start = 0
  }
}
