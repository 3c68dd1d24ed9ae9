import RuledCore
import RuledJSON

final class EntryReader {
  private let document = TapeDocument()

  /// A stored message; nil if the text is none.
  func message(_ text: [UInt8]) -> MessageText? {
    guard let stored = parse(text), case let object = stored.member("message") ?? stored,
      let from = object.member("from")?.text
    else { return nil }
    return message(object, from: from)
  }

  /// The message in a parked part; nil if there is none.
  func parkedMessage(_ text: [UInt8]) -> MessageText? {
    guard let object = parse(text), let from = object.member("message_from")?.text,
      let event = object.member("events")?.children.first
    else { return nil }
    return message(event, from: from)
  }

  /// The id that the messages of a stored publication have; empty if the text is none.
  func id(ofPublication text: [UInt8]) -> String { parse(text)?.member("message")?.member("id")?.text ?? "" }

  /// The topic of a stored publication; nil for a message that follows one.
  func topic(ofPublication text: [UInt8]) -> QualifiedName? {
    guard let object = parse(text), let topic = object.member("topic")?.text,
      let plugin = object.member("message")?.member("sent_by")?.text
    else { return nil }
    return QualifiedName(plugin, topic)
  }

  private func message(_ object: TapeValue, from: String) -> MessageText? {
    guard let id = object.member("id")?.text, let target = object.member("subject")?.text,
      let type = object.member("type")?.text, let time = object.member("time")?.text
    else { return nil }
    let key = RecordedHistory.key(ofMessageTo: target, from: from, type: type, time: time)
    let pair = MessageText.Pair(sender: from.nameHash, receiver: target.nameHash)
    return MessageText(
      key: key, pair: pair, id: id, from: from, time: Timestamp(rfc3339: time)?.microseconds ?? 0,
      mayPublish: object.member("may_publish")?.integer)
  }

  /// When a stored timer is due, in microseconds; nil if the text is no timer.
  func due(_ text: [UInt8]) -> Int64? { parse(text)?.member("due")?.integer }

  private func parse(_ text: [UInt8]) -> TapeValue? {
    text.withView { try? document.parse(copyOf: $0) }
  }
}
