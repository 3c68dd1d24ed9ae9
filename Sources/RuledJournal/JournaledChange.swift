package import RuledCore
package import RuledStore

/// A change that watchers got, as the journal has it; valid while it is passed.
package struct JournaledChange {
  package let sequence: UInt64
  package let origin: JournalEntry.Origin
  package let subject: ByteView
  /// The event as it was sent or stored.
  package let event: ByteView
  /// The event's id if `event` lacks it.
  package let id: ByteView?
  /// The plugins that took part and did not fail, each in quotes, with commas between; nil if an earlier build wrote the entry.
  package let plugins: ByteView?
  package let outcome: RememberedOutcome

  fileprivate init(_ view: EntryView) {
    sequence = view.sequence
    origin = view.origin
    subject = view.subject
    event = view.text
    id = view.flags.contains(.lacksID) ? view.id : nil
    plugins = view.plugins
    let parts = view.parts
    outcome = RememberedOutcome(
      version: view.version, revision: view.revision, decisions: parts.decisions, effects: parts.effects,
      failures: parts.failures)
  }
}

extension LiveJournal {
  /// The first sequence from which on only changes of forgotten subjects are missing up to `last`; `last + 1` if there is none.
  ///
  /// At most so many changes follow, and from the files at most about so many bytes of entries.
  package func firstChange(through last: UInt64, count: Int, byteCount: Int) throws(StoreError) -> UInt64 {
    let earliest = first
    guard earliest > 0 else { return last + 1 }
    let lost = gaps.map(\.last).max() ?? 0
    let wanted = min(last + 1, max(earliest, lost + 1, last - min(last, UInt64(count)) + 1))
    var left = byteCount
    for summary in journal.state.contents.summaries.reversed() where summary.last >= wanted {
      for block in try summary.open(journal.files).blocks.reversed() where block.header.last >= wanted {
        left -= block.header.plainBytes
        if left < 0 { return block.header.last + 1 }
      }
    }
    return wanted
  }

  /// Calls `body` with each change from `first` to `last`, except those of forgotten subjects.
  ///
  /// Returns whether all of them could be read.
  package func forEachChange(
    from first: UInt64, through last: UInt64, _ body: (JournaledChange) -> Void
  ) throws(StoreError) -> Bool {
    var range = JournalRange()
    range.first = first
    range.last = last
    try forEachView(in: range) { view in
      body(JournaledChange(view))
      return true
    }
    return isReadable(from: first, through: last)
  }

  /// Whether no damage is known from the sequence `first` to `last`.
  func isReadable(from first: UInt64, through last: UInt64) -> Bool {
    !gaps.contains { $0.isDamage && $0.last >= first && $0.first <= last }
  }
}
