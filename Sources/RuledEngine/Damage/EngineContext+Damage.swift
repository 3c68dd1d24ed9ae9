package import RuledCore
package import RuledStore

extension EngineContext {
  /// Notes in the damage report and the log that a key, or the keys with that prefix, can't be read.
  ///
  /// A value that is `malformed` could be read, but not understood.
  package func noteDamage(
    _ key: some KeyPart, of subject: [UInt8]? = nil, _ error: StoreError, malformed: Bool = false
  ) {
    if error.isDamage { note(DamageReport.Thing(key, subject: subject, isMalformed: malformed), error) }
  }

  /// Notes that a key, or the keys with that prefix, could be read, in case they were damaged before.
  @inline(__always)
  package func clearDamage(_ key: @autoclosure () -> some KeyPart, malformed: Bool = false) {
    if !damage.isEmpty { clearEntry(StoreKey.bytes { key().appendPart(to: $0) }, malformed) }
  }

  private func clearEntry(_ key: [UInt8], _ isMalformed: Bool) {
    guard let thing = damage.clear(key: key, isMalformed: isMalformed) else { return }
    log.write(LogLine(.info, "\(thing.what) can be read again", subjectHash: thing.subjectHash))
  }

  /// Scans the keys with a prefix.
  ///
  /// Damaged ranges are skipped, noted, and passed to `passing`.
  func scan(
    prefix: [UInt8], of kind: StoreKey.Kind, passing: (UnreadableKeys) -> Void = { _ in },
    _ body: (_ key: ByteView, _ value: ByteView) -> Bool
  ) throws(StoreError) {
    try scan(from: prefix, to: StoreKey.upperBound(prefix), of: kind, passing: passing, body)
  }

  /// Scans the keys of a kind from `lower` on and below `upper`.
  ///
  /// Damaged ranges are skipped, noted, and passed to `passing`.
  package func scan(
    from lower: [UInt8], to upper: [UInt8]?, of kind: StoreKey.Kind, passing: (UnreadableKeys) -> Void = { _ in },
    _ body: (_ key: ByteView, _ value: ByteView) -> Bool
  ) throws(StoreError) {
    var met: Set<DamageReport.Thing> = []
    var reached = upper
    try withoutActuallyEscaping(passing) { (passing) throws(StoreError) in
      try store.scan(
        from: lower, to: upper,
        skipping: { range in
          let thing = DamageReport.Thing(range.after, subject: nil, isRange: true)
          met.insert(thing)
          self.note(thing, range.error)
          passing(range)
        }
      ) { key, value in
        let continues = body(key, value)
        if !continues, !damage.isEmpty { reached = Array(key) }
        return continues
      }
    }
    guard !damage.isEmpty else { return }
    let cleared = damage.clear(rangesOf: kind, from: lower, to: reached, except: met)
    if cleared > 0 { log.write(LogLine(.info, "\(kind.nouns) can be read again that were damaged")) }
  }

  private func note(_ thing: DamageReport.Thing, _ error: StoreError) {
    guard damage.note(thing, error, at: clock.now) else { return }
    log.write(
      LogLine(
        .error, "\(thing.what) can't be read, all else goes on; it is tried again: \(error)",
        subjectHash: thing.subjectHash))
  }
}
