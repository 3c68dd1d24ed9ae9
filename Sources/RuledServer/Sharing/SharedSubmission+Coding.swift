import RuledCore
import RuledEngine

/// A submission to bytes and back.
extension SharedSubmission {
  /// How many bytes more than what came have room in the writes of a batch: the owner adds counters and its sequence of changes.
  private static let spareBytes = 1024

  private static let float: UInt8 = 1
  private static let first: UInt8 = 2

  /// Appends the submission.
  func write(into buffer: ByteBuffer) {
    precondition(cascades.count == batch.messages.count, "each message has the number of a cascade, or 0")
    buffer.append(bigEndian: UInt32(replies))
    buffer.append(bigEndian: UInt32(enclosed.count))
    enclosed.forEach { reply, target in ShareFrame.writeReply(reply, to: target.connection, into: buffer) }
    buffer.append(counted: batch.writes.records)
    batch.changes.write(into: buffer)
    buffer.append(bigEndian: UInt32(batch.counters.count))
    for delta in batch.counters { Self.write(delta, into: buffer) }
    buffer.append(bigEndian: UInt32(batch.messages.count))
    for (message, cascade) in zip(batch.messages, cascades) { Self.write(message, cascade, into: buffer) }
    buffer.append(batch.earliestTimer == nil ? 0 : 1)
    buffer.append(bigEndian: batch.earliestTimer ?? 0)
    buffer.append(bigEndian: Int64(batch.waitingTimers))
    buffer.append(bigEndian: UInt32(batch.effects.count))
    for effect in batch.effects {
      buffer.append(counted: effect.subject)
      buffer.append(bigEndian: effect.sequence)
    }
    buffer.append(batch.removesEffects ? 1 : 0)
    buffer.append(bigEndian: UInt32(batch.parked.count))
    for (plugin, change) in batch.parked {
      buffer.append(counted: plugin)
      buffer.append(bigEndian: Int64(change))
    }
  }

  private static func write(_ delta: CounterTable.Delta, into buffer: ByteBuffer) {
    buffer.append(counted: delta.key.name)
    buffer.append(counted: delta.key.labels)
    switch delta.amount {
    case .integer(let number):
      buffer.append(delta.isFirst ? first : 0)
      buffer.append(bigEndian: number)
    case .number(let number):
      buffer.append(delta.isFirst ? first | float : float)
      buffer.append(bigEndian: number.bitPattern)
    }
  }

  private static func write(_ message: CommitBatch.Message, _ cascade: UInt64, into buffer: ByteBuffer) {
    buffer.append(counted: message.subject)
    buffer.append(bigEndian: message.sequence)
    buffer.append(counted: message.sender?.name ?? "")
    buffer.append(bigEndian: cascade)
  }

  /// Reads a submission into a new batch; nil if there is none.
  ///
  /// The senders of its messages are found in `senders`.
  init?(reading reader: inout BytesReader, senders: MessageSenders) {
    guard let replies = reader.word32(), let enclosed = Self.readReplies(&reader), let records = reader.string(),
      let changes = ChangeLog(reading: &reader)
    else { return nil }
    let batch = CommitBatch(number: 0, changes: changes, capacity: records.count + Self.spareBytes)
    guard batch.writes.append(records: records), Self.readCounters(&reader, into: batch),
      let cascades = Self.readMessages(&reader, into: batch, senders), Self.readTimers(&reader, into: batch),
      Self.readEffects(&reader, into: batch), Self.readParked(&reader, into: batch)
    else { return nil }
    self.init(batch: batch, cascades: cascades, replies: Int(replies), enclosed: enclosed)
  }

  private static func readReplies(_ reader: inout BytesReader) -> ReplyBundle? {
    guard let count = reader.word32() else { return nil }
    var bundle = ReplyBundle()
    for _ in 0..<count {
      guard let (number, reply) = ShareFrame.readReply(&reader) else { return nil }
      bundle.append(reply, to: ReplyTarget(.owner, connection: number, isAdmin: false))
    }
    return bundle
  }

  private static func readCounters(_ reader: inout BytesReader, into batch: CommitBatch) -> Bool {
    guard let count = reader.word32() else { return false }
    for _ in 0..<count {
      guard let name = reader.string(), let labels = reader.string(), let flags = reader.byte(),
        flags <= first | float, let bits = reader.word()
      else { return false }
      let amount: CounterValue =
        flags & float == 0 ? .integer(Int64(bitPattern: bits)) : .number(Double(bitPattern: bits))
      var delta = CounterTable.Delta(name: name, labels: labels, amount: amount)
      delta.isFirst = flags & first != 0
      batch.counters.append(delta)
    }
    return true
  }

  /// Reads messages; returns the numbers of their cascades.
  private static func readMessages(
    _ reader: inout BytesReader, into batch: CommitBatch, _ senders: MessageSenders
  ) -> [UInt64]? {
    guard let count = reader.word32() else { return nil }
    var cascades: [UInt64] = []
    for _ in 0..<count {
      guard let message = SharedMessage(reading: &reader) else { return nil }
      let sender = message.plugin.isEmpty ? nil : senders[message.plugin]
      batch.messages.append(
        CommitBatch.Message(subject: message.subject, sequence: message.sequence, sender: sender))
      cascades.append(message.cascade)
    }
    return cascades
  }

  private static func readTimers(_ reader: inout BytesReader, into batch: CommitBatch) -> Bool {
    guard let isSet = reader.byte(), isSet < 2, let earliest = reader.signed(), let waiting = reader.signed() else {
      return false
    }
    batch.earliestTimer = isSet == 1 ? earliest : nil
    batch.waitingTimers = Int(waiting)
    return true
  }

  private static func readEffects(_ reader: inout BytesReader, into batch: CommitBatch) -> Bool {
    guard let count = reader.word32() else { return false }
    for _ in 0..<count {
      guard let subject = reader.string(), let sequence = reader.word() else { return false }
      batch.effects.append(EffectKey(subject: Array(subject), sequence: sequence))
    }
    guard let removes = reader.byte(), removes < 2 else { return false }
    batch.removesEffects = removes == 1
    return true
  }

  private static func readParked(_ reader: inout BytesReader, into batch: CommitBatch) -> Bool {
    guard let count = reader.word32() else { return false }
    for _ in 0..<count {
      guard let plugin = reader.text(), let change = reader.signed() else { return false }
      batch.countParked(of: plugin, Int(change))
    }
    return true
  }
}
