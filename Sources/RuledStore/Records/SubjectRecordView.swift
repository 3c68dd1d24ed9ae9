import RuledCore

/// A subject's record where it lies, checked once and then read without copying.
///
/// Valid as long as the bytes that it was made over.
package struct SubjectRecordView {
  /// How many commits the subject has had.
  package let version: UInt64
  /// Until when events are remembered that are not among the recent ones.
  package let until: RememberedUntil
  /// The events that the subject has seen lately.
  package let recent: RecentEvents
  private let plugins: UnsafeRawBufferPointer

  /// Checks `bytes` against the layout of `SubjectRecord`; throws `corrupt` when they are not a whole record.
  package init(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
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
    plugins = UnsafeRawBufferPointer(rebasing: bytes[reader.offset...])
    while !reader.isAtEnd {
      _ = try reader.string("a plugin's name")
      _ = try reader.string("a plugin's state")
    }
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
