import RuledCore

/// Reads the entries of blocks of the kind `wholeEntries`, which earlier versions wrote: their parts are whole.
///
/// | bytes | what |
/// | --- | --- |
/// | 1 | origin and flags, as in `JournalRecord`; the highest bit says that there are paths of redacted values |
/// | varint | how much higher the sequence is |
/// | signed varint | how much later it was evaluated; if the flag says so, how much `now()` differs |
/// | varint | the subject's version |
/// | 4 | the digest of the consequences, if the flag says that there are any |
/// | strings | event, subject, id, revision, decisions, effects, failures, digests; for a timer or retry plugin and name; redacted paths |
///
/// Digests are for each plugin its name as string and eight bytes. A string has its length as varint before it.
struct WholeEntries {
  private var sequence: UInt64 = 0
  private var at: Int64 = 0

  /// Reads the next entry; nil at the end, or where the bytes are none.
  mutating func read(_ reader: inout BlockReader) -> EntryView? {
    guard let (head, flags) = EntryCodec.readHead(&reader, &sequence, &at), let text = reader.string(),
      let subject = reader.string(), let id = reader.string(), let revision = reader.string(),
      let results = reader.strings(3), let digests = reader.string()
    else { return nil }
    var view = head
    view.text = text
    view.subject = subject
    view.id = id
    view.revision = revision
    view.results = results
    view.states = .digests(digests)
    return EntryCodec.readTail(&reader, flags, of: &view) ? view : nil
  }
}
