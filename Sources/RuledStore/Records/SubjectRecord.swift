package import RuledCore

/// Writes a subject's record: one value.
///
/// | bytes | what |
/// | --- | --- |
/// | 1 | layout of the record, 3 |
/// | varint | version: commits to the subject |
/// | varint | until when its earlier events are remembered, in seconds since 1970; 0 is never |
/// | varint | until when events with a key of their own are remembered, likewise |
/// | 1 | number of recent events, then for each 8 bytes of hash and 4 of when its outcome expires in seconds since 1970, big-endian, oldest first |
/// | … | for each plugin its name and its state, both with their length as varint before them |
///
/// A state is JSON. A zero byte and the version as varint come before a state of a version other than 1.
///
/// `SubjectRecordView` reads it.
package enum SubjectRecord {
  /// The layout that is written and read.
  static let layout: UInt8 = 3

  /// How many recent events fit into a record.
  static let mostRecent = 255

  /// Appends the part before the plugins, with at most `mostRecent` events.
  @_effects(releasenone)
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

  /// Appends one plugin's state, JSON text of a version from 1 on, behind the header and the plugins before it.
  @_effects(releasenone)
  package static func writePlugin(_ name: some KeyPart, state: ByteView, version: Int = 1, into buffer: ByteBuffer) {
    buffer.append(varint: UInt64(name.partCount))
    name.appendPart(to: buffer)
    if version == 1 {
      buffer.append(varint: UInt64(state.count))
    } else {
      let versionBytes = (UInt64.bitWidth - UInt64(version).leadingZeroBitCount + 6) / 7
      buffer.append(varint: UInt64(1 + versionBytes + state.count))
      buffer.append(0)
      buffer.append(varint: UInt64(version))
    }
    buffer.append(state)
  }
}

/// Until when events are remembered that a subject's record does not list, in seconds since 1970; 0 means that there are none.
package struct RememberedUntil: Equatable, Sendable {
  /// The last one of its `EarlierEvents`.
  package var earlier: UInt64
  /// The last one that has a key of its own.
  package var single: UInt64

  package init(earlier: UInt64 = 0, single: UInt64 = 0) {
    self.earlier = earlier
    self.single = single
  }
}
