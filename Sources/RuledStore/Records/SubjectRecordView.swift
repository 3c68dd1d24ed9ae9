package import RuledCore

/// A subject's record, checked once and then read without copying; valid as long as its bytes.
package struct SubjectRecordView {
  /// How many commits the subject has had.
  package let version: UInt64
  /// Until when events beyond the recent ones are remembered.
  package let until: RememberedUntil
  package let recent: RecentEvents
  /// The plugins, each its name and its state with their lengths before them.
  package let plugins: ByteView

  /// Checks `bytes` against the layout of `SubjectRecord`; throws `corrupt` when they are not a whole record.
  package init(_ bytes: ByteView) throws(StoreError) {
    try self.init(beginningOf: bytes)
    var reader = ByteReader(plugins)
    while !reader.isAtEnd {
      _ = try reader.string("a plugin's name")
      _ = try PluginState(try reader.string("a plugin's state"))
    }
  }

  /// Checks the part before the plugins; throws `corrupt` when it is not whole.
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

  package var hasPlugins: Bool { !plugins.isEmpty }

  /// The state of the plugin called `name`; nil when it has none.
  ///
  /// - Complexity: O(plugins)
  @_effects(releasenone)
  package func state(of name: ByteView) -> PluginState? {
    var reader = ByteReader(plugins)
    while let (plugin, state) = Self.plugin(&reader) {
      if ByteOrder.equal(plugin, name) { return state }
    }
    return nil
  }

  /// The state of the plugin called `name`, valid as long as the record; nil when it has none.
  package func state(of name: String) -> PluginState? {
    return name.withView { state(of: $0) }
  }

  /// Calls `body` with each plugin's name and state, in the order written.
  package func forEachPlugin(_ body: (_ name: ByteView, _ state: PluginState) -> Void) {
    var reader = ByteReader(plugins)
    while let (plugin, state) = Self.plugin(&reader) { body(plugin, state) }
  }

  /// The plugin at the reader's offset; nil at the end, and no error since `init` has checked all of them.
  private static func plugin(_ reader: inout ByteReader) -> (name: ByteView, state: PluginState)? {
    guard !reader.isAtEnd, let name = try? reader.string("a plugin's name"),
      let state = try? PluginState(try reader.string("a plugin's state"))
    else { return nil }
    return (name, state)
  }
}

/// A plugin's state for a subject, valid as long as the record.
package struct PluginState {
  /// The version of its shape; 1 for a state that was stored before any was declared.
  package let version: Int
  package let json: ByteView
  /// Version and JSON, as the record has them; see `SubjectRecord`.
  package let bytes: ByteView

  fileprivate init(_ bytes: ByteView) throws(StoreError) {
    self.bytes = bytes
    guard bytes.first == 0 else {
      (version, json) = (1, bytes)
      return
    }
    var reader = ByteReader(bytes)
    _ = try reader.byte("a state's mark")
    guard let version = Int(exactly: try reader.varint("a state's version")), version > 0 else {
      throw StoreError(.corrupt, "a state's version is out of range")
    }
    self.version = version
    json = bytes.extracting(reader.offset...)
  }
}
