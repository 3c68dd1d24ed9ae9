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
