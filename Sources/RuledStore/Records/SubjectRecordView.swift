import RuledCore

/// A subject's record where it lies, checked once and then read without copying.
///
/// Valid as long as the bytes that it was made over.
package struct SubjectRecordView {
  /// How many commits the subject has had.
  package let version: UInt64
  /// Until when more than the recent events may have been remembered, in seconds since 1970; 0 is never.
  package let overflowUntil: UInt64
  private let recent: UnsafeRawBufferPointer
  private let plugins: UnsafeRawBufferPointer

  /// Checks `bytes` against the layout of `SubjectRecord`; throws `corrupt` when they are not a whole record.
  package init(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    var reader = ByteReader(bytes)
    let layout = try reader.byte("a subject's layout")
    guard layout == SubjectRecord.layout else {
      throw StoreError(.corrupt, "a subject's record has the layout \(layout), known is \(SubjectRecord.layout)")
    }
    version = try reader.varint("a subject's version")
    overflowUntil = try reader.varint("a subject's overflow time")
    let count = Int(try reader.byte("a subject's number of recent events"))
    recent = try reader.take(count * RecentEvent.byteCount, "a subject's recent events")
    plugins = UnsafeRawBufferPointer(rebasing: bytes[reader.offset...])
    while !reader.isAtEnd {
      _ = try reader.string("a plugin's name")
      _ = try reader.string("a plugin's state")
    }
  }

  /// How many recent events there are.
  package var recentCount: Int { recent.count / RecentEvent.byteCount }

  /// The recent event at `index`, the oldest first.
  package func recentEvent(at index: Int) -> RecentEvent {
    precondition(index >= 0 && index < recentCount)
    let offset = index * RecentEvent.byteCount
    return RecentEvent(
      hash: UInt64(bigEndian: recent.loadUnaligned(fromByteOffset: offset, as: UInt64.self)),
      seconds: UInt32(bigEndian: recent.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self)))
  }

  /// When the outcome of the latest recent event of that hash expires, in seconds since 1970; nil when there is none.
  ///
  /// - Complexity: O(`recentCount`)
  package func seconds(ofRecent hash: UInt64) -> UInt32? {
    var offset = recent.count - RecentEvent.byteCount
    while offset >= 0 {
      if UInt64(bigEndian: recent.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) == hash {
        return UInt32(bigEndian: recent.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self))
      }
      offset -= RecentEvent.byteCount
    }
    return nil
  }

  /// Whether any plugin has a state.
  package var hasPlugins: Bool { !plugins.isEmpty }

  /// The state of the plugin called `name`, JSON text; nil when it has none.
  ///
  /// - Complexity: O(plugins)
  package func state(of name: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    var reader = ByteReader(plugins)
    while let (plugin, state) = Self.plugin(&reader) {
      if ByteOrder.equal(plugin, name) { return state }
    }
    return nil
  }

  /// The state of the plugin called `name`, JSON text, valid as long as the record; nil when it has none.
  package func state(of name: String) -> UnsafeRawBufferPointer? {
    var name = name
    return name.withUTF8 { state(of: UnsafeRawBufferPointer($0)) }
  }

  /// Calls `body` with each plugin's name and state, in the order written.
  package func forEachPlugin(_ body: (_ name: UnsafeRawBufferPointer, _ state: UnsafeRawBufferPointer) -> Void) {
    var reader = ByteReader(plugins)
    while let (plugin, state) = Self.plugin(&reader) { body(plugin, state) }
  }

  /// The plugin at the reader's place; nil at the end, and no error since `init` has checked all of them.
  private static func plugin(
    _ reader: inout ByteReader
  ) -> (name: UnsafeRawBufferPointer, state: UnsafeRawBufferPointer)? {
    guard !reader.isAtEnd, let name = try? reader.string("a plugin's name"),
      let state = try? reader.string("a plugin's state")
    else { return nil }
    return (name, state)
  }
}
