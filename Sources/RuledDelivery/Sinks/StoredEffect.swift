package import RuledCore
package import RuledJSON
package import RuledWire

/// An effect in the store: `{"id":…,"plugin":…,"sink":…,"type":…,"data":…,"subject":…,"at":…}`.
///
/// A given-up effect has a further member, `"failed":{"at":…,"tries":…,"why":…,"status":…,"body":…,"after":…}`, of which `status` and
/// `body` are there if a receiver answered. It keeps that member when it is to be tried again, with an `after` of 0.
package struct StoredEffect {
  /// The id, the same in each try.
  package let id: String
  package let plugin: String
  package let sink: String
  package let type: String
  /// How it was given up; nil if it was not.
  package let mark: Mark?

  package struct Mark: Equatable {
    package var at: String
    /// How often it was tried before.
    package var tries: Int
    package var failure: DeliveryFailure
    /// The last sequence before it was given up, 0 if that is unknown or if the effect is to be tried again.
    ///
    /// It tells the effect from those given up later, whatever the clock says.
    package var after: UInt64

    package init(at: String, tries: Int, failure: DeliveryFailure, after: UInt64) {
      self.at = at
      self.tries = tries
      self.failure = failure
      self.after = after
    }
  }

  /// The last sequence before the effect was given up, 0 if it is not known; nil if it was not given up.
  package var givenUpAfter: UInt64? { mark?.after }

  /// Reads a stored text; nil when it has another form.
  package init?(_ text: ByteView, _ document: TapeDocument) {
    guard let effect = try? document.parse(text), let id = effect.member("id")?.text,
      let plugin = effect.member("plugin")?.text, let sink = effect.member("sink")?.text,
      let type = effect.member("type")?.text
    else { return nil }
    self.id = id
    self.plugin = plugin
    self.sink = sink
    self.type = type
    guard let failed = effect.member("failed") else {
      mark = nil
      return
    }
    // The mark of an older version has no sequence.
    var after: UInt64 = 0
    if let number = failed.member("after") {
      guard let sequence = number.integer.flatMap({ UInt64(exactly: $0) }) else { return nil }
      after = sequence
    }
    mark = Mark(
      at: failed.member("at")?.text ?? "", tries: Int(failed.member("tries")?.integer ?? 0),
      failure: DeliveryFailure(
        reason: failed.member("why")?.text ?? "", status: failed.member("status")?.integer.map { Int($0) },
        body: failed.member("body")?.text),
      after: after)
  }

  /// When the effect in a stored text was emitted, in the clock's microseconds; nil when the text has another form.
  package static func time(_ text: ByteView, _ document: TapeDocument) -> Int64? {
    guard let at = (try? document.parse(text))?.member("at")?.string else { return nil }
    return Timestamp(rfc3339: at)?.microseconds
  }

  /// The effect as it was emitted, without the mark of being given up, from the text that it was read from.
  ///
  /// With an anonymous id it has that one, and no subject.
  package func emitted(_ text: ByteView, _ document: TapeDocument, anonymousID: String? = nil) -> [UInt8] {
    guard mark != nil || anonymousID != nil, let effect = try? document.parse(text) else { return Array(text) }
    let buffer = ByteBuffer(capacity: text.count)
    var writer = JSONWriter(buffer)
    writer.beginObject()
    var members = MemberCursor(effect, text: text)
    while let member = members.next() {
      guard !member.name.elementsEqual("failed".utf8) else { continue }
      if let anonymousID {
        if member.name.elementsEqual("subject".utf8) { continue }
        if member.name.elementsEqual("id".utf8) {
          writer.member("id", anonymousID)
          continue
        }
      }
      writer.member(named: member.name)
      writer.raw(member.text)
    }
    writer.endObject()
    return Array(buffer.bytes)
  }

  /// The text of an effect with a mark, made of its text as emitted.
  package static func marked(_ emitted: [UInt8], _ mark: Mark) -> [UInt8] {
    let buffer = ByteBuffer(capacity: emitted.count + 128)
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("failed")
    writer.beginObject()
    writer.member("at", mark.at)
    writer.member("tries", mark.tries)
    writer.member("why", mark.failure.reason)
    if let status = mark.failure.status { writer.member("status", status) }
    if let body = mark.failure.body { writer.member("body", body) }
    writer.member("after", mark.after)
    writer.endObject()
    // The members of the effect with their commas and the closing brace.
    emitted.withView { writer.raw($0.extracting(droppingFirst: 1)) }
    return Array(buffer.bytes)
  }
}
