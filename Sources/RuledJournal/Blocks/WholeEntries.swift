/// Reads the entries of blocks of the kind `wholeEntries`, which earlier versions wrote: each has all of its parts.
///
/// | bytes | what |
/// | --- | --- |
/// | 1 | origin and flags, as in `EntryHead`; bit 7: there are redacted paths |
/// | varint | the sequence, as the difference from the entry before |
/// | signed varint | the time of the evaluation, likewise; if the flag says so, the difference of `now()` from it |
/// | varint | the subject's version |
/// | 4 | the digest of the consequences, if the flag says that there are any |
/// | strings | event, subject, id, revision, decisions, effects, failures, digests; for a timer or retry plugin and name; redacted paths |
///
/// Digests are, for each plugin, its name as string and eight bytes. A string has its length as varint before it.
struct WholeEntries {
  private var sequence: UInt64 = 0
  private var at: Int64 = 0

  /// Reads the next entry; nil at the end, or if the bytes are no entry.
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
