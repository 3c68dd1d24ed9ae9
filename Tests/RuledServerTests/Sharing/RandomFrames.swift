import RuledCore
import RuledEngine
import TestSupport

@testable import RuledServer

/// Makes frames at random, which point into memory that it keeps.
final class RandomFrames {
  private var random: SeededRandom
  private var kept: [ByteBuffer] = []

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// A frame of any kind.
  func next() -> ShareFrame {
    switch Int.random(in: 0..<26, using: &random) {
    case 0: .join(ShareJoin(node: text(), incarnation: text(), revision: text()))
    case 1: .submit(round: number(), list { submission() })
    case 2: .replies(list { (number: number(), reply: view()) })
    case 3: .timerFailed(timer(), error())
    case 4: .released(move: number(), sequence: number())
    case 5: .ping(time: number(), played: signed())
    case 6: .accept(ShareTerms(manualClock: flag() ? signed() : nil, now: signed(), steady: signed(), journals: flag()))
    case 7: .grant(partitions(), after: signed(), sequence: number())
    case 8: .release(move: number(), partitions())
    case 9: .requests(list { SharedRequest(number: number(), isAdmin: flag(), isInBatch: flag(), text: view()) })
    case 10: .messages(after: signed(), list { message() })
    case 11: .fire(number: number(), timer())
    case 12: .committed(round: number(), CommitResult(code: UInt8(below(3))) ?? .lost, after: signed())
    case 13: .pong(time: number(), validity: number(), now: Int64(bitPattern: number()))
    case 14: .ended(number: number(), isWhole: flag())
    case 15: .counted(counts())
    case 16: .suspended(plugin: text(), isSuspended: flag())
    case 17: .clock(signed())
    case 18: .leave
    case 19: .unsendable(number: number())
    case 20: .health(ShareHealth(heldSubjects: number(), problems: list { text() }, unreadable: list { text() }))
    case 21: .position(signed())
    case 22: .problems(list { text() })
    case 23: .clientRequests(list { SharedRequest(number: number(), isAdmin: flag(), isInBatch: flag(), text: view()) })
    case 24: .clientReplies(list { (number: number(), reply: view()) })
    default: .farewell(text())
    }
  }

  /// A submission with something of everything.
  func submission() -> SharedSubmission {
    let changes = ChangeLog()
    for _ in 0..<count() {
      switch Int.random(in: 0..<3, using: &random) {
      case 0: changes.appendUnseen()
      case 1: changes.append(forgotten: view())
      default:
        let start = changes.bytes.count
        changes.bytes.append(view())
        let subject = start..<changes.bytes.count
        changes.bytes.append("\"plugins\":[" as StaticString)
        let names = changes.bytes.count
        changes.bytes.append("\"a\",\"b\"" as StaticString)
        let plugins = names..<changes.bytes.count
        changes.bytes.append(view())
        changes.append(subject: subject, version: number(), plugins: plugins)
      }
    }
    let batch = CommitBatch(number: 7, changes: changes)
    for _ in 0..<count() {
      switch Int.random(in: 0..<3, using: &random) {
      case 0: batch.writes.put(view(), view())
      case 1: batch.writes.delete(view())
      default: batch.writes.journal(view(), view())
      }
    }
    for _ in 0..<count() {
      let amount: CounterValue = flag() ? .integer(signed()) : .number(Double(bitPattern: number()))
      var delta = CounterTable.Delta(name: view(), labels: view(), amount: amount)
      delta.isFirst = flag()
      batch.counters.append(delta)
    }
    let cascades = (0..<count()).map { _ in flag() ? number() : 0 }
    for _ in cascades {
      let sender = flag() ? senders[text() + "p"] : nil
      batch.messages.append(CommitBatch.Message(subject: bytes(), sequence: number(), sender: sender))
    }
    batch.earliestTimer = flag() ? signed() : nil
    batch.waitingTimers = Int.random(in: -5...5, using: &random)
    batch.removesEffects = flag()
    for _ in 0..<count() { batch.effects.append(EffectKey(subject: bytes(), sequence: number())) }
    for _ in 0..<count() { batch.countParked(of: text(), Int.random(in: -2...2, using: &random)) }
    var enclosed = ReplyBundle()
    for _ in 0..<below(4) { enclosed.append(view(), to: ReplyTarget(.owner, connection: number(), isAdmin: false)) }
    return SharedSubmission(batch: batch, cascades: cascades, replies: below(1_000), enclosed: enclosed)
  }

  /// What counts the messages of the submissions.
  let senders = MessageSenders()

  /// Changes up to three bits of `bytes`, or removes some at its end.
  func damage(_ bytes: inout [UInt8]) {
    if flag() { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    }
  }

  /// A number below `end`.
  func below(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }

  private func counts() -> ShareCounts {
    var counts = ShareCounts(events: number(), queries: number(), duplicates: number(), damaged: number())
    for code in RequestError.Code.allCases where flag() { counts.errors[code] = number() }
    counts.plugins = list {
      var tally = PluginTally(name: text(), runs: number(), lastStops: number(), isSuspended: flag())
      for kind in Failure.Kind.allCases where flag() { tally.failures[.init(rule: text(), kind: kind)] = number() }
      return tally
    }
    return counts
  }

  private func error() -> RequestError {
    let code = RequestError.Code.allCases.randomElement(using: &random) ?? .forbidden
    let values: [JSONValue] = [.null, .integer(signed()), .string(text()), .number(0.5), ["a": .array([.bool(true)])]]
    return RequestError(
      code, text(), details: list { RequestError.Detail(text(), values.randomElement(using: &random) ?? .null) })
  }

  private func timer() -> DueTimer { DueTimer(due: signed(), subject: bytes(), plugin: bytes(), name: bytes()) }

  private func message() -> SharedMessage {
    SharedMessage(subject: bytes(), sequence: number(), plugin: text(), cascade: number())
  }

  private func partitions() -> PartitionSet { PartitionSet(list { Partition(UInt8(below(256))) }) }

  private func list<Item>(_ item: () -> Item) -> [Item] { (0..<count()).map { _ in item() } }

  private func count() -> Int { Int.random(in: 0...4, using: &random) }

  private func flag() -> Bool { Bool.random(using: &random) }

  private func number() -> UInt64 {
    flag() ? UInt64.random(in: 0...9, using: &random) : UInt64.random(in: 0 ... .max, using: &random)
  }

  private func signed() -> Int64 { Int64(bitPattern: number()) }

  private func bytes() -> [UInt8] {
    (0..<(flag() ? count() : 200)).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  private func text() -> String {
    (0..<count()).map { _ in ["a", "plugin", "ä", "\"", "\n", ""].randomElement(using: &random) ?? "" }.joined()
  }

  private func view() -> ByteView {
    let buffer = ByteBuffer()
    bytes().withView { buffer.append($0) }
    kept.append(buffer)
    return buffer.bytes
  }
}

extension ShareFrame {
  /// All that the frame says, as text, to be compared.
  var content: String {
    switch self {
    case .submit(let round, let submissions): "submit \(round) \(submissions.map(\.content))"
    case .replies(let replies), .clientReplies(let replies):
      "\(kind) \(replies.map { "\($0.number) \(Self.content($0.reply))" })"
    case .requests(let requests), .clientRequests(let requests):
      "\(kind) \(requests.map { "\($0.number) \($0.isAdmin) \($0.isInBatch) \(Self.content($0.text))" })"
    case .grant(let partitions, let after, let sequence):
      "grant \(partitions.partitions.map(\.index)) \(after) \(sequence)"
    case .counted(let counts): "counted \(counts.content)"
    case .release(let move, let partitions): "release \(move) \(partitions.partitions.map(\.index))"
    default: "\(self)"
    }
  }

  /// The bytes, or a hash of many.
  private static func content(_ bytes: ByteView) -> String {
    bytes.count < 1_000 ? "\(Array(bytes))" : "\(bytes.count) bytes, \(hash64(bytes, seed: 1))"
  }
}

extension ShareCounts {
  /// All that the counts say, as text, to be compared.
  fileprivate var content: String {
    let plugins = plugins.map { tally in
      let failures = tally.failures.map { "\($0.key.rule) \($0.key.kind) \($0.value)" }.sorted()
      return "\(tally.name) \(tally.runs) \(failures) \(tally.isSuspended)"
    }
    return "\(events) \(queries) \(duplicates) \(damaged) \(errors.map { "\($0.key) \($0.value)" }.sorted()) \(plugins)"
  }
}

extension SharedSubmission {
  /// All that the submission says, as text, to be compared.
  var content: String {
    let counters = batch.counters.map { delta in
      let amount =
        switch delta.amount {
        case .integer(let number): "integer \(number)"
        case .number(let number): "bits \(number.bitPattern)"
        }
      return "\(delta.key) \(amount) \(delta.isFirst)"
    }
    let messages = zip(batch.messages, cascades).map { message, cascade in
      "\(message.subject) \(message.sequence) \(message.sender?.name ?? "none") \(cascade)"
    }
    var writes: [String] = []
    batch.writes.forEach { operation in
      switch operation {
      case .put(let key, let value): writes.append("put \(Array(key)) \(Array(value))")
      case .delete(let key): writes.append("delete \(Array(key))")
      case .journal(let head, let text): writes.append("journal \(Array(head)) \(Array(text))")
      }
    }
    var replies = "\(replies)"
    enclosed.forEach { replies += " \($1.connection) \(Array($0))" }
    let timer = batch.earliestTimer.map { "\($0)" } ?? "none"
    return """
      \(writes) \(counters) \(messages) \(timer) \(batch.waitingTimers) \(batch.effects) \(batch.removesEffects) \(batch.parked) \(batch.changes.all)
      \(replies)
      """
  }
}
