import RuledCore
import RuledJSON

/// An effect in the store: `{"id":…,"plugin":…,"sink":…,"type":…,"data":…,"subject":…,"at":…}`.
///
/// One that was given up has a further member, `"failed":{"at":…,"tries":…,"why":…,"after":…}`.
struct StoredEffect {
  /// The id, the same in each try.
  let id: String
  /// The plugin that emitted it.
  let plugin: String
  /// The sink that it is for.
  let sink: String
  /// Its type.
  let type: String
  /// The last sequence before the effect was given up, 0 if it is not known; nil if it was not given up.
  let givenUpAfter: UInt64?

  /// A parser of stored effects, whose data is one level deeper than in the rule that emitted them.
  static func makeDocument() -> TapeDocument { TapeDocument(maximumDepth: Limits.jsonDepth + 1) }

  /// Reads a stored text; nil when it has another form.
  init?(_ text: UnsafeRawBufferPointer, _ document: TapeDocument) {
    guard let effect = try? document.parse(text), let id = effect.member("id")?.text,
      let plugin = effect.member("plugin")?.text, let sink = effect.member("sink")?.text,
      let type = effect.member("type")?.text
    else { return nil }
    self.id = id
    self.plugin = plugin
    self.sink = sink
    self.type = type
    guard let failed = effect.member("failed") else {
      givenUpAfter = nil
      return
    }
    // The mark of an older version has no sequence.
    guard let after = failed.member("after") else {
      givenUpAfter = 0
      return
    }
    guard let sequence = after.integer.flatMap({ UInt64(exactly: $0) }) else { return nil }
    givenUpAfter = sequence
  }

  /// The effect as it was emitted, without the mark of being given up, from the text that it was read from.
  func emitted(_ text: UnsafeRawBufferPointer, _ document: TapeDocument) -> [UInt8] {
    guard givenUpAfter != nil, let effect = try? document.parse(text) else { return Array(text) }
    let buffer = ByteBuffer(capacity: text.count)
    var writer = JSONWriter(buffer)
    writer.beginObject()
    var members = MemberCursor(effect, text: text)
    while let member = members.next() {
      guard !member.name.elementsEqual("failed".utf8) else { continue }
      writer.member(named: member.name)
      writer.raw(member.text)
    }
    writer.endObject()
    return Array(buffer.bytes)
  }

  /// The text of an effect once it is given up, made of its text as emitted.
  ///
  /// `sequence` tells it from effects that are given up later, whatever the clock says.
  static func givenUp(_ emitted: [UInt8], at time: Timestamp, tries: Int, reason: String, after sequence: UInt64)
    -> [UInt8]
  {
    let buffer = ByteBuffer(capacity: emitted.count + 128)
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("failed")
    writer.beginObject()
    writer.member("at", time)
    writer.member("tries", tries)
    writer.member("why", reason)
    writer.member("after", sequence)
    writer.endObject()
    // The members of the effect with their commas and the closing brace.
    emitted.withUnsafeBytes { writer.raw(UnsafeRawBufferPointer(rebasing: $0.dropFirst())) }
    return Array(buffer.bytes)
  }
}
