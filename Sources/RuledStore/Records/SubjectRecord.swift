package import RuledCore

/// Writes a subject's record: one value.
///
/// | bytes | what |
/// | --- | --- |
/// | 1 | layout of the record, 3 |
/// | varint | version: commits to the subject |
/// | varint | until when its earlier events are remembered, in seconds since 1970; 0 is never |
/// | varint | until when events are remembered that have a key each, likewise |
/// | 1 | number of recent events, then for each 8 bytes of hash and 4 of when its outcome expires in seconds since 1970, big-endian, oldest first |
/// | … | for each plugin its name and its state as JSON, both with their length as varint before them |
///
/// `SubjectRecordView` reads it.
package enum SubjectRecord {
  /// The layout that is written and read.
  package static let layout: UInt8 = 3

  /// How many recent events fit into a record.
  package static let mostRecent = 255

  /// Appends all that comes before the plugins; at most `mostRecent` events.
  package static func writeHeader(
    version: UInt64, until: RememberedUntil, recent: [RecentEvent], into buffer: ByteBuffer
  ) {
    let count = recent.count
    precondition(count <= mostRecent, "a record holds at most \(mostRecent) recent events")
    buffer.append(layout)
    buffer.append(varint: version)
    buffer.append(varint: until.earlier)
    buffer.append(varint: until.single)
    buffer.append(UInt8(count))
    buffer.reserve(count * RecentEvent.byteCount)
    for event in recent { RecentEvents.append(event, to: buffer) }
  }

  /// Appends one plugin's state, JSON text, behind the header and the plugins before it.
  package static func writePlugin(
    _ name: some KeyPart, state: ByteView, into buffer: ByteBuffer
  ) {
    buffer.append(varint: UInt64(name.partCount))
    name.appendPart(to: buffer)
    buffer.append(varint: UInt64(state.count))
    buffer.append(state)
  }
}

/// A subject's record, checked once and then read without copying; valid as long as its bytes.
package struct SubjectRecordView {
  /// How many commits the subject has had.
  package let version: UInt64
  /// Until when events are remembered that are not among the recent ones.
  package let until: RememberedUntil
  /// The events that the subject has seen lately.
  package let recent: RecentEvents
  /// The plugins, each its name and its state with their lengths before them.
  package let plugins: ByteView

  /// Checks `bytes` against the layout of `SubjectRecord`; throws `corrupt` when they are not a whole record.
  package init(_ bytes: ByteView) throws(StoreError) {
    try self.init(beginningOf: bytes)
    var reader = ByteReader(plugins)
    while !reader.isAtEnd {
      _ = try reader.string("a plugin's name")
      _ = try reader.string("a plugin's state")
    }
  }

  /// Checks what comes before the plugins; throws `corrupt` when that is not whole.
  package init(beginningOf bytes: ByteView) throws(StoreError) {
    var reader = ByteReader(bytes)
    let layout = try reader.byte("a subject's layout")
    guard layout == SubjectRecord.layout else {
      throw StoreError(.corrupt, "a subject's record has the layout \(layout), known is \(SubjectRecord.layout)")
    }
    version = try reader.varint("a subject's version")
    let earlier = try reader.varint("a subject's time of earlier events")
    until = RememberedUntil(earlier: earlier, single: try reader.varint("a subject's time of single events"))
    let count = Int(try reader.byte("a subject's number of recent events"))
    recent = RecentEvents(try reader.take(count * RecentEvent.byteCount, "a subject's recent events"))
    plugins = bytes.extracting(reader.offset...)
  }

  /// Whether any plugin has a state.
  package var hasPlugins: Bool { !plugins.isEmpty }

  /// The state of the plugin called `name`, JSON text; nil when it has none.
  ///
  /// - Complexity: O(plugins)
  package func state(of name: ByteView) -> ByteView? {
    var reader = ByteReader(plugins)
    while let (plugin, state) = Self.plugin(&reader) {
      if ByteOrder.equal(plugin, name) { return state }
    }
    return nil
  }

  /// The state of the plugin called `name`, JSON text, valid as long as the record; nil when it has none.
  package func state(of name: String) -> ByteView? {
    return name.withView { state(of: $0) }
  }

  /// Calls `body` with each plugin's name and state, in the order written.
  package func forEachPlugin(_ body: (_ name: ByteView, _ state: ByteView) -> Void) {
    var reader = ByteReader(plugins)
    while let (plugin, state) = Self.plugin(&reader) { body(plugin, state) }
  }

  /// The plugin at the reader's offset; nil at the end, and no error since `init` has checked all of them.
  private static func plugin(
    _ reader: inout ByteReader
  ) -> (name: ByteView, state: ByteView)? {
    guard !reader.isAtEnd, let name = try? reader.string("a plugin's name"),
      let state = try? reader.string("a plugin's state")
    else { return nil }
    return (name, state)
  }
}

/// Reads stored bytes from front to back and never past their end.
struct ByteReader {
  private let bytes: ByteView
  /// How many bytes have been read.
  private(set) var offset = 0

  /// A reader at the beginning of `bytes`.
  init(_ bytes: ByteView) { self.bytes = bytes }

  /// Whether everything has been read.
  var isAtEnd: Bool { offset == bytes.count }

  mutating func byte(_ part: StaticString) throws(StoreError) -> UInt8 {
    guard offset < bytes.count else { throw truncated(part) }
    defer { offset += 1 }
    return bytes[offset]
  }

  /// Reads a number as `append(varint:)` writes it.
  @inline(__always)
  mutating func varint(_ part: StaticString) throws(StoreError) -> UInt64 {
    guard offset < bytes.count, bytes[offset] < 0x80 else { return try longVarint(part) }
    defer { offset += 1 }
    return UInt64(bytes[offset])
  }

  /// Reads a number that may have several bytes.
  private mutating func longVarint(_ part: StaticString) throws(StoreError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let next = try byte(part)
      let group = UInt64(next & 0x7F)
      guard shift < 63 || (shift == 63 && group <= 1) else { throw StoreError(.corrupt, "\(part) is out of range") }
      value |= group << shift
      if next < 0x80 { return value }
      shift += 7
    }
  }

  mutating func take(_ count: Int, _ part: StaticString) throws(StoreError) -> ByteView {
    guard count <= bytes.count - offset else { throw truncated(part) }
    defer { offset += count }
    return bytes.extracting(offset..<offset + count)
  }

  /// Reads a length and as many bytes.
  mutating func string(_ part: StaticString) throws(StoreError) -> ByteView {
    let length = try varint(part)
    guard let count = Int(exactly: length) else { throw truncated(part) }
    return try take(count, part)
  }

  private func truncated(_ part: StaticString) -> StoreError {
    StoreError(.corrupt, "\(part) goes past the end of its \(bytes.count) bytes")
  }
}
