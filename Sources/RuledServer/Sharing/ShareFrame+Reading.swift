import RuledCore
import RuledEngine

/// Bytes to frames.
extension ShareFrame {
  /// The length of the frame that begins here, its head included; nil if fewer than four bytes came.
  static func length(_ bytes: ByteView) -> Int? {
    bytes.count < 4 ? nil : 4 + Int(UInt32(bigEndian: bytes.load(at: 0, as: UInt32.self)))
  }

  /// Parses a whole frame; nil if the bytes are no frame.
  ///
  /// Requests and replies then point into `bytes`; all else is copied. `senders` are those of the engine that gets the submissions.
  init?(_ bytes: ByteView, senders: MessageSenders) {
    guard bytes.count >= Self.headBytes, Self.length(bytes) == bytes.count, let kind = Kind(rawValue: bytes[4]) else {
      return nil
    }
    var reader = BytesReader(bytes.extracting(Self.headBytes..<bytes.count))
    let read: ShareFrame? =
      switch kind {
      case .join, .submit, .replies, .clientRequests, .timerFailed, .released, .ping, .counted, .unsendable, .health,
        .leave:
        Self.evaluators(kind, &reader, senders)
      case .accept, .grant, .release, .requests, .clientReplies, .messages, .fire, .committed, .pong, .suspended,
        .clock, .position, .problems:
        Self.owners(kind, &reader)
      case .ended: Self.readEnded(&reader)
      case .farewell: .farewell(String(decoding: reader.rest(), as: UTF8.self))
      }
    guard let read, reader.isAtEnd else { return nil }
    self = read
  }

  /// Why bytes are refused that are no frame.
  static func refusal(of bytes: ByteView) -> String {
    if bytes.count > headBytes, bytes[4] == Kind.join.rawValue, bytes[5] != ShareJoin.format {
      let formats = "format \(bytes[5]), this one reads format \(ShareJoin.format)"
      return "the node writes frames of \(formats); upgrade the older one"
    }
    return "the peer has sent what is no frame"
  }

  /// Reads the body of a frame from the node that evaluates.
  private static func evaluators(
    _ kind: Kind, _ reader: inout BytesReader, _ senders: MessageSenders
  ) -> ShareFrame? {
    switch kind {
    case .join: return readJoin(&reader)
    case .submit:
      guard let round = reader.word() else { return nil }
      return items(&reader) { SharedSubmission(reading: &$0, senders: senders) }.map { .submit(round: round, $0) }
    case .replies: return items(&reader) { readReply(&$0) }.map { .replies($0) }
    case .clientRequests: return items(&reader) { SharedRequest(reading: &$0) }.map { .clientRequests($0) }
    case .timerFailed:
      guard let timer = DueTimer(reading: &reader), let error = RequestError(reading: &reader) else { return nil }
      return .timerFailed(timer, error)
    case .released:
      guard let move = reader.word(), let sequence = reader.word() else { return nil }
      return .released(move: move, sequence: sequence)
    case .ping:
      guard let time = reader.word(), let played = reader.signed() else { return nil }
      return .ping(time: time, played: played)
    case .counted: return ShareCounts(reading: &reader).map { .counted($0) }
    case .unsendable: return reader.word().map { .unsendable(number: $0) }
    case .health: return ShareHealth(reading: &reader).map { .health($0) }
    case .leave: return .leave
    default: return nil
    }
  }

  /// Reads the body of a frame from the owner.
  private static func owners(_ kind: Kind, _ reader: inout BytesReader) -> ShareFrame? {
    switch kind {
    case .accept: return readAccept(&reader)
    case .grant:
      guard let after = reader.signed(), let sequence = reader.word(), let partitions = PartitionSet(reading: &reader)
      else { return nil }
      return .grant(partitions, after: after, sequence: sequence)
    case .release:
      guard let move = reader.word(), let partitions = PartitionSet(reading: &reader) else { return nil }
      return .release(move: move, partitions)
    case .requests: return items(&reader) { SharedRequest(reading: &$0) }.map { .requests($0) }
    case .clientReplies: return items(&reader) { readReply(&$0) }.map { .clientReplies($0) }
    case .messages:
      guard let after = reader.signed() else { return nil }
      return items(&reader) { SharedMessage(reading: &$0) }.map { .messages(after: after, $0) }
    case .fire:
      guard let number = reader.word(), let timer = DueTimer(reading: &reader) else { return nil }
      return .fire(number: number, timer)
    case .committed:
      guard let round = reader.word(), let result = reader.byte().flatMap(CommitResult.init(code:)),
        let after = reader.signed()
      else { return nil }
      return .committed(round: round, result, after: after)
    case .pong:
      guard let time = reader.word(), let validity = reader.word(), let now = reader.signed() else { return nil }
      return .pong(time: time, validity: validity, now: now)
    case .suspended:
      guard let plugin = reader.text(), let isSuspended = reader.byte(), isSuspended < 2 else { return nil }
      return .suspended(plugin: plugin, isSuspended: isSuspended == 1)
    case .clock: return reader.signed().map { .clock($0) }
    case .position: return reader.signed().map { .position($0) }
    case .problems: return items(&reader) { $0.text() }.map { .problems($0) }
    default: return nil
    }
  }

  /// Reads items up to the end of the body; nil if one is none.
  private static func items<Item>(_ reader: inout BytesReader, _ read: (inout BytesReader) -> Item?) -> [Item]? {
    var items: [Item] = []
    while !reader.isAtEnd {
      guard let item = read(&reader) else { return nil }
      items.append(item)
    }
    return items
  }

  /// Reads one of the replies of a frame; nil if there is none.
  static func readReply(_ reader: inout BytesReader) -> (number: UInt64, reply: ByteView)? {
    guard let number = reader.word(), let reply = reader.string() else { return nil }
    return (number, reply)
  }

  /// Reads what a node says of itself; a node that writes another format sends no frame.
  private static func readJoin(_ reader: inout BytesReader) -> ShareFrame? {
    guard reader.byte() == ShareJoin.format, let node = reader.text(), let incarnation = reader.text(),
      let revision = reader.text()
    else { return nil }
    return .join(ShareJoin(node: node, incarnation: incarnation, revision: revision))
  }

  private static func readAccept(_ reader: inout BytesReader) -> ShareFrame? {
    guard let flags = reader.byte(), flags < 4, let clock = reader.signed(), let now = reader.signed(),
      let steady = reader.signed()
    else {
      return nil
    }
    return .accept(
      ShareTerms(manualClock: flags & 2 == 0 ? nil : clock, now: now, steady: steady, journals: flags & 1 != 0))
  }

  private static func readEnded(_ reader: inout BytesReader) -> ShareFrame? {
    guard let number = reader.word(), let isWhole = reader.byte(), isWhole < 2 else { return nil }
    return .ended(number: number, isWhole: isWhole == 1)
  }
}
