import RuledCore
import RuledEngine
import RuledJSON

/// Frames to bytes.
///
/// A frame has four bytes of length, a byte of kind, and the body. Numbers are big-endian; texts and strings of bytes have their length in four bytes before
/// them. The items of `submit`, `messages`, and of those with requests or replies end with the body.
extension ShareFrame {
  /// What a frame is, as its fifth byte says.
  enum Kind: UInt8 {
    case join = 1, submit, replies, timerFailed, released, ping, leave, counted, unsendable, health, clientRequests
    case accept = 16, grant, release, requests, messages, fire, committed, pong, suspended, clock, position, problems
    case clientReplies = 28
    case ended = 32, farewell
  }

  /// The number of bytes before the body.
  static let headBytes = 5
  /// The most bytes of a frame, its head included: a reply may be all that is held on a subject, a submission what a large event writes.
  static let mostBytes = 1 << 30
  /// The most bytes of a reply or a submission, which leave room for others in the same frame.
  static let mostItemBytes = mostBytes - (16 << 20)

  /// Appends the head of a frame whose body will follow; returns where it begins.
  static func begin(_ kind: Kind, in buffer: ByteBuffer) -> Int {
    defer {
      buffer.append(bigEndian: UInt32(0))
      buffer.append(kind.rawValue)
    }
    return buffer.count
  }

  /// Writes the length of the frame that begins at `start` and ends here into its head.
  static func end(from start: Int, in buffer: ByteBuffer) {
    buffer.overwrite(at: start, bigEndian: UInt32(buffer.count - start - 4))
  }

  /// What kind of frame it is.
  var kind: Kind {
    switch self {
    case .join: .join
    case .submit: .submit
    case .replies: .replies
    case .timerFailed: .timerFailed
    case .released: .released
    case .ping: .ping
    case .leave: .leave
    case .unsendable: .unsendable
    case .health: .health
    case .counted: .counted
    case .accept: .accept
    case .grant: .grant
    case .release: .release
    case .requests: .requests
    case .messages: .messages
    case .fire: .fire
    case .committed: .committed
    case .pong: .pong
    case .suspended: .suspended
    case .clock: .clock
    case .position: .position
    case .problems: .problems
    case .ended: .ended
    case .farewell: .farewell
    case .clientRequests: .clientRequests
    case .clientReplies: .clientReplies
    }
  }

  /// Appends the frame.
  func write(into buffer: ByteBuffer) {
    let start = Self.begin(kind, in: buffer)
    switch self {
    case .join, .submit, .replies, .clientRequests, .timerFailed, .released, .ping, .counted, .unsendable, .health,
      .leave:
      writeEvaluators(into: buffer)
    case .accept, .grant, .release, .requests, .clientReplies, .messages, .fire, .committed, .pong, .suspended, .clock,
      .position, .problems:
      writeOwners(into: buffer)
    case .ended(let number, let isWhole):
      buffer.append(bigEndian: number)
      buffer.append(isWhole ? 1 : 0)
    case .farewell(let reason): buffer.append(contentsOf: reason)
    }
    Self.end(from: start, in: buffer)
  }

  /// Appends the body of a frame from the node that evaluates.
  private func writeEvaluators(into buffer: ByteBuffer) {
    switch self {
    case .join(let join):
      buffer.append(ShareJoin.format)
      for text in [join.node, join.incarnation, join.revision] { buffer.append(counted: text) }
    case .submit(let round, let submissions):
      buffer.append(bigEndian: round)
      for submission in submissions { submission.write(into: buffer) }
    case .replies(let replies):
      for (number, reply) in replies { Self.writeReply(reply, to: number, into: buffer) }
    case .clientRequests(let requests):
      for request in requests { request.write(into: buffer) }
    case .timerFailed(let timer, let error):
      timer.write(into: buffer)
      error.write(into: buffer)
    case .released(let move, let sequence):
      buffer.append(bigEndian: move)
      buffer.append(bigEndian: sequence)
    case .ping(let time, let played):
      buffer.append(bigEndian: time)
      buffer.append(bigEndian: played)
    case .counted(let counts): counts.write(into: buffer)
    case .unsendable(let number): buffer.append(bigEndian: number)
    case .health(let health): health.write(into: buffer)
    case .leave: break
    default: preconditionFailure("no frame of a node that evaluates")
    }
  }

  /// Appends the body of a frame from the owner.
  private func writeOwners(into buffer: ByteBuffer) {
    switch self {
    case .accept(let terms):
      buffer.append((terms.journals ? 1 : 0) | (terms.manualClock == nil ? 0 : 2))
      buffer.append(bigEndian: terms.manualClock ?? 0)
      buffer.append(bigEndian: terms.now)
      buffer.append(bigEndian: terms.steady)
    case .grant(let partitions, let after, let sequence):
      buffer.append(bigEndian: after)
      buffer.append(bigEndian: sequence)
      partitions.write(into: buffer)
    case .release(let move, let partitions):
      buffer.append(bigEndian: move)
      partitions.write(into: buffer)
    case .requests(let requests):
      for request in requests { request.write(into: buffer) }
    case .clientReplies(let replies):
      for (number, reply) in replies { Self.writeReply(reply, to: number, into: buffer) }
    case .messages(let after, let messages):
      buffer.append(bigEndian: after)
      for message in messages { message.write(into: buffer) }
    case .fire(let number, let timer):
      buffer.append(bigEndian: number)
      timer.write(into: buffer)
    case .position(let position): buffer.append(bigEndian: position)
    case .problems(let problems):
      for problem in problems { buffer.append(counted: problem) }
    case .committed(let round, let result, let after):
      buffer.append(bigEndian: round)
      buffer.append(result.code)
      buffer.append(bigEndian: after)
    case .pong(let time, let validity, let now):
      buffer.append(bigEndian: time)
      buffer.append(bigEndian: validity)
      buffer.append(bigEndian: now)
    case .suspended(let plugin, let isSuspended):
      buffer.append(counted: plugin)
      buffer.append(isSuspended ? 1 : 0)
    case .clock(let time): buffer.append(bigEndian: time)
    default: preconditionFailure("no frame of the owner")
    }
  }

  /// Appends one of the replies of a frame.
  static func writeReply(_ reply: ByteView, to number: UInt64, into buffer: ByteBuffer) {
    buffer.append(bigEndian: number)
    buffer.append(counted: reply)
  }
}

extension CommitResult {
  /// The result as frames have it.
  var code: UInt8 {
    switch self {
    case .durable: 0
    case .lost: 1
    case .unknown: 2
    }
  }

  /// The result with that code; nil if there is none.
  init?(code: UInt8) {
    switch code {
    case 0: self = .durable
    case 1: self = .lost
    case 2: self = .unknown
    default: return nil
    }
  }
}

extension PartitionSet {
  /// Appends the set, in 32 bytes.
  func write(into buffer: ByteBuffer) { for index in 0..<4 { buffer.append(bigEndian: words[index]) } }

  /// Reads a set; nil if there is none.
  init?(reading reader: inout BytesReader) {
    for index in 0..<4 {
      guard let word = reader.word() else { return nil }
      words[index] = word
    }
  }
}

extension SharedRequest {
  private static let admin: UInt8 = 1
  private static let inBatch: UInt8 = 2

  /// Appends the request.
  func write(into buffer: ByteBuffer) {
    buffer.append(bigEndian: number)
    buffer.append((isAdmin ? Self.admin : 0) | (isInBatch ? Self.inBatch : 0))
    buffer.append(counted: text)
  }

  /// Reads a request, whose text then points into the reader's bytes; nil if there is none.
  init?(reading reader: inout BytesReader) {
    guard let number = reader.word(), let flags = reader.byte(), flags <= Self.admin | Self.inBatch,
      let text = reader.string()
    else { return nil }
    self.init(
      number: number, isAdmin: flags & Self.admin != 0, isInBatch: flags & Self.inBatch != 0, text: text)
  }
}

extension SharedMessage {
  /// Appends the message.
  func write(into buffer: ByteBuffer) {
    buffer.append(counted: subject)
    buffer.append(bigEndian: sequence)
    buffer.append(counted: plugin)
    buffer.append(bigEndian: cascade)
  }

  /// Reads a message; nil if there is none.
  init?(reading reader: inout BytesReader) {
    guard let subject = reader.string(), let sequence = reader.word(), let plugin = reader.text(),
      let cascade = reader.word()
    else { return nil }
    self.init(subject: Array(subject), sequence: sequence, plugin: plugin, cascade: cascade)
  }
}

extension DueTimer {
  /// Appends the timer.
  func write(into buffer: ByteBuffer) {
    buffer.append(bigEndian: due)
    buffer.append(counted: subject)
    buffer.append(counted: plugin)
    buffer.append(counted: name)
  }

  /// Reads a timer; nil if there is none.
  init?(reading reader: inout BytesReader) {
    guard let due = reader.signed(), let subject = reader.string(), let plugin = reader.string(),
      let name = reader.string()
    else { return nil }
    self.init(due: due, subject: Array(subject), plugin: Array(plugin), name: Array(name))
  }
}

extension RequestError {
  /// Appends the error: its code's name, its message, and the name and the JSON of each detail.
  func write(into buffer: ByteBuffer) {
    buffer.append(counted: code.rawValue)
    buffer.append(counted: message)
    buffer.append(bigEndian: UInt32(details.count))
    let json = ByteBuffer()
    for detail in details {
      buffer.append(counted: detail.name)
      json.removeAll()
      detail.value.write(to: json)
      buffer.append(counted: json.bytes)
    }
  }

  /// Reads an error; nil if there is none.
  init?(reading reader: inout BytesReader) {
    guard let code = reader.text().flatMap(Code.init(rawValue:)), let message = reader.text(),
      let count = reader.word32()
    else { return nil }
    self.init(code, message)
    for _ in 0..<count {
      guard let name = reader.text(), let text = reader.string(), let value = try? JSONValue(parsing: text) else {
        return nil
      }
      details.append(Detail(name, value))
    }
  }
}
