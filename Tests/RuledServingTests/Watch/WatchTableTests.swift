import RuledCore
import RuledEngine
import RuledWire
import TestSupport
import Testing

@testable import RuledIO
@testable import RuledServing

@Suite struct WatchTableTests {
  /// A connection that keeps the sequences of what each of its watches got.
  private final class Receiver: WatchReceiver {
    var hasRoom = true
    var isTaking: Bool { hasRoom }
    var sequences: [Int64: [UInt64]] = [:]

    func addNews(_ news: WatchNews, of watch: Int64) {
      if case .changed(let sequence, _) = news { sequences[watch, default: []].append(sequence) }
    }

    func endNews() {}
  }

  /// A table on a loop of the test's thread.
  private struct Rig {
    let loop: EventLoop
    let hub = WatchHub(spare: ChangeLogPool())
    let log = RecordingLog()
    let parser = RequestParser()
    let table: WatchTable

    init() throws {
      loop = try EventLoop()
      table = WatchTable(on: loop, hub, key: 0, Refusals(log: log)) {}
    }

    func watch(_ params: String, connection: UInt64, _ receiver: Receiver) throws -> Int64 {
      let text = #"{"jsonrpc":"2.0","id":1,"method":"watch","params":\#(params)}"#
      let parsed = try text.withView { bytes in
        guard case .single(.request(let request)) = parser.parseRequest(bytes) else {
          throw RequestError(.invalidRequest, text)
        }
        return try WatchParams(request)
      }
      return try table.begin(parsed, connection: connection, receiver)
    }

    func refusal(_ params: String, connection: UInt64, _ receiver: Receiver) -> RequestError? {
      do { _ = try watch(params, connection: connection, receiver) } catch { return error as? RequestError }
      return nil
    }

    /// Publishes a change of each subject by the plugins.
    func publish(_ changes: [(subject: String, plugins: [String])]) {
      let log = ChangeLog()
      for change in changes {
        let start = log.bytes.count
        log.bytes.append(contentsOf: change.subject)
        let subject = start..<log.bytes.count
        log.bytes.append(contentsOf: "\"plugins\":[")
        let first = log.bytes.count
        log.bytes.append(contentsOf: change.plugins.map { "\"\($0)\"" }.joined(separator: ","))
        let plugins = first..<log.bytes.count
        log.bytes.append(contentsOf: "]")
        log.append(subject: subject, version: 1, plugins: plugins)
      }
      hub.addChanges([log])
    }
  }

  @Test func `a connection that ends is freed with its watches`() throws {
    let rig = try Rig()
    weak var ended: Receiver?
    do {
      let receiver = Receiver()
      ended = receiver
      _ = try rig.watch("{}", connection: 1, receiver)
      _ = try rig.watch(#"{"plugins":["p"]}"#, connection: 1, receiver)
      rig.table.endAll(connection: 1)
    }
    #expect(ended == nil)
  }

  @Test func `each watch gets all that it wants, once and in order, whenever its connection has room`() throws {
    let rig = try Rig()
    defer { rig.loop.close() }
    var random = SeededRandom(seed: 7)
    let (subjects, plugins) = (["a", "ab", "abc", "b", "ba", "c"], ["p", "q", "r"])
    let receivers = (0..<12).map { _ in Receiver() }
    struct Wanted {
      let receiver: Receiver
      let number: Int64
      let subject: String?
      let prefix: String
      let plugins: Set<String>?
      var sequences: [UInt64] = []
    }
    var watches: [Wanted] = []
    var sequence: UInt64 = 0
    for _ in 0..<400 {
      if random.next() % 4 == 0 {
        let place = Int(random.next() % 12)
        let subject = random.next() % 3 == 0 ? subjects.randomElement(using: &random) : nil
        let prefix = random.next() % 2 == 0 ? String(subjects[Int(random.next() % 6)].prefix(2)) : ""
        let names = random.next() % 2 == 0 ? Set(plugins.shuffled(using: &random).prefix(Int(random.next() % 3))) : nil
        var params = "{\"prefix\":\"\(prefix)\""
        if let subject { params += ",\"subject\":\"\(subject)\"" }
        if let names { params += ",\"plugins\":[\(names.map { "\"\($0)\"" }.joined(separator: ","))]" }
        let number = try rig.watch(params + "}", connection: UInt64(place), receivers[place])
        watches.append(
          Wanted(receiver: receivers[place], number: number, subject: subject, prefix: prefix, plugins: names))
      }
      let changes = (0..<Int(random.next() % 4)).map { _ in
        (subjects[Int(random.next() % 6)], Array(plugins.shuffled(using: &random).prefix(Int(random.next() % 3))))
      }
      rig.publish(changes.map { (subject: $0.0, plugins: $0.1) })
      for (subject, names) in changes {
        sequence += 1
        for index in watches.indices {
          let watch = watches[index]
          guard watch.subject ?? subject == subject, subject.hasPrefix(watch.prefix),
            watch.plugins.map({ !$0.isDisjoint(with: names) }) ?? true
          else { continue }
          watches[index].sequences.append(sequence)
        }
      }
      receivers[Int(random.next() % 12)].hasRoom = random.next() % 2 == 0
      rig.table.read()
      rig.loop.runOnce()
    }
    for receiver in receivers { receiver.hasRoom = true }
    func missing() -> Int { watches.count { ($0.receiver.sequences[$0.number] ?? []) != $0.sequences } }
    for _ in 0..<10_000 where missing() > 0 {
      rig.table.read()
      rig.loop.runOnce()
    }
    #expect(missing() == 0)
    #expect(watches.contains { $0.sequences.count > 100 })
  }

  @Test func `a connection may have so many watches, and its filters so many bytes`() throws {
    let rig = try Rig()
    defer { rig.loop.close() }
    let receiver = Receiver()
    for _ in 0..<Limits.connectionWatches { _ = try rig.watch("{}", connection: 1, receiver) }
    let refused = rig.refusal("{}", connection: 1, receiver)
    #expect(refused?.code == .overloaded && refused?.message.contains("100 watches") == true)
    let names = (0..<9_000).map { "\"p\($0)\"" }.joined(separator: ",")
    let large = rig.refusal("{\"plugins\":[\(names)]}", connection: 2, Receiver())
    #expect(large?.code == .overloaded && large?.message.contains("1048576 bytes") == true)
    #expect(rig.hub.watches == Limits.connectionWatches)
    #expect(rig.log.lines.count == 1, "the log tells of it once a minute: \(rig.log.text)")
    rig.table.endAll(connection: 1)
    #expect(rig.hub.watches == 0)
    #expect(rig.refusal("{}", connection: 1, receiver) == nil)
  }

  @Test func `all connections together may have so many watches`() {
    let hub = WatchHub(spare: ChangeLogPool())
    for _ in 0..<Limits.watches { #expect(hub.addWatch(bytes: 1)) }
    #expect(!hub.addWatch(bytes: 1))
    hub.removeWatches(1, bytes: 1)
    #expect(!hub.addWatch(bytes: Limits.filterBytes))
    #expect(hub.addWatch(bytes: 1))
  }

  @Test func `a watch that ends gets what was committed before`() throws {
    let rig = try Rig()
    defer { rig.loop.close() }
    let receiver = Receiver()
    let watch = try rig.watch("{}", connection: 1, receiver)
    rig.publish([("a", ["p"])])
    #expect(rig.table.end(watch, connection: 1))
    rig.publish([("a", ["p"])])
    rig.table.read()
    #expect(receiver.sequences == [watch: [1]])
  }

  @Test func `a watch that ended, and those of a connection that ended, get nothing more`() throws {
    let rig = try Rig()
    defer { rig.loop.close() }
    let (first, second) = (Receiver(), Receiver())
    let ended = try rig.watch("{}", connection: 1, first)
    let kept = try rig.watch("{}", connection: 1, first)
    _ = try rig.watch(#"{"subject":"a"}"#, connection: 2, second)
    #expect(rig.table.end(ended, connection: 1) && !rig.table.end(kept, connection: 2))
    rig.table.endAll(connection: 2)
    rig.publish([("a", ["p"])])
    rig.table.read()
    #expect(first.sequences == [kept: [1]])
    #expect(second.sequences.isEmpty)
  }
}
