internal import Glibc

/// What `rulectl bench` has to know of a reply, read without parsing it.
struct BenchReply {
  /// The request's number.
  let id: Int64?
  /// Whether it is an outcome that no plugin failed on.
  let isPlain: Bool

  /// Reads a line.
  init(_ line: UnsafeRawBufferPointer) {
    id = Self.number(after: Self.position(of: "\"id\":", in: line.prefix(64)), in: line)
    isPlain = Self.position(of: "\"failures\":[]", in: line[...]) != nil
  }

  /// The position behind `text` where it occurs first.
  private static func position(of text: StaticString, in line: Slice<UnsafeRawBufferPointer>) -> Int? {
    let bytes = UnsafeRawBufferPointer(rebasing: line)
    let length = text.utf8CodeUnitCount
    guard let base = bytes.baseAddress else { return nil }
    var at = 0
    while at + length <= bytes.count {
      guard let found = memchr(base + at, Int32(text.utf8Start.pointee), bytes.count - length - at + 1) else {
        return nil
      }
      at = UnsafeRawPointer(found) - base
      if memcmp(found, text.utf8Start, length) == 0 { return at + length }
      at += 1
    }
    return nil
  }

  private static func number(after start: Int?, in line: UnsafeRawBufferPointer) -> Int64? {
    guard var at = start else { return nil }
    var value: Int64 = 0
    let first = at
    while at < line.count, (48...57).contains(line[at]), at - first < 10 {
      value = value * 10 + Int64(line[at] - 48)
      at += 1
    }
    return at > first ? value : nil
  }
}
