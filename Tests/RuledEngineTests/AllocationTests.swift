import CAllocations
import RuledCore
import RuledJSON
import RuledLua
import RuledStore
import Testing

@testable import RuledEngine

@Suite struct AllocationTests {
  private static let text = """
    rule 'r' { on = 'x', run = function(e, s)
      s.n = (s.n or 0) + 1
      s.best = math.max(s.best or 0, e.data.points)
      decide('n', s.n)
      decide('best', { points = s.best, day = calendar.day(now(), 'UTC') })
    end }
    """
  private static let measured = 1000
  #if DEBUG
    /// Without optimisation each round of a loop over an array allocates, and the outcomes that a record lists make most of the rounds.
    ///
    /// Each view of an array allocates a count of changes, which release builds don't have.
    private static let most = 28 * measured
  #else
    /// Buffers that grow while they take the events of a batch, the less often the larger they are, and two steps in which each of the sixteen
    /// subjects' tables of earlier events grows.
    private static let most = 64
  #endif

  /// Events for a few subjects, as their texts.
  private static func events(_ run: String, _ count: Int) -> [[UInt8]] {
    (0..<count).map { number in
      Array(
        #"{"type":"x","subject":"user:\#(number % 16)","id":"\#(run)-\#(number)","source":"s","data":{"points":\#(number)}}"#
          .utf8)
    }
  }

  @Test(
    .enabled(if: ca_is_counting()),
    arguments: ["", "event 'y' { points = 'integer' } "])
  func `an event of a hot subject allocates nothing`(declared: String) throws {
    let engine = try Engine(["p": declared + Self.text])
    let evaluator = engine.local.evaluator
    let document = TapeDocument()
    let reply = ByteBuffer(capacity: 1 << 20)
    func apply(_ text: [UInt8]) throws {
      guard let object = text.withView({ try? document.parse(copyOf: $0) }) else { return }
      let event = EventInput(stored: object, text: document.text, now: engine.local.now.microseconds, origin: .client)
      reply.removeAll()
      try evaluator.evaluate(event, into: reply)
    }
    for text in Self.events("warm", Self.measured) { try apply(text) }
    try engine.local.runUntilIdle()
    let texts = Self.events("hot", Self.measured)
    let before = ca_count()
    var next = 0
    while next < texts.count {
      try apply(texts[next])
      next += 1
    }
    let allocated = Int(ca_count() - before)
    #expect(allocated <= Self.most, "\(allocated) allocations for \(Self.measured) events")
    #expect(reply.text.contains("\"points\":999}"))
  }
}
