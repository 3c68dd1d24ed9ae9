import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// The value that remembers an event's outcome.
struct RememberedOutcomeTests {
  private func value(_ parts: [[UInt8]], version: UInt64, id: [UInt8]) -> [UInt8] {
    let buffer = ByteBuffer()
    parts[0].withView { revision in
      parts[1].withView { decisions in
        parts[2].withView { effects in
          parts[3].withView { failures in
            id.withView {
              RememberedOutcome(
                version: version, revision: revision, decisions: decisions, effects: effects, failures: failures
              ).write(expiring: 77, id: $0, digest: 99, into: buffer)
            }
          }
        }
      }
    }
    return Array(buffer.bytes)
  }

  @Test(arguments: UInt64(1)...50)
  func `a value is read as it was written`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let parts = (0..<4).map { _ in random.value(most: 300) }
    let id = Bool.random(using: &random) ? random.value(most: 100) : []
    let version = UInt64.random(in: 0 ... .max, using: &random) >> UInt64.random(in: 0...63, using: &random)
    try value(parts, version: version, id: id).withView { value in
      let outcome = try RememberedOutcome(value)
      #expect(StoredExpiry.read(value) == 77 && outcome.version == version && Array(outcome.id) == id)
      #expect(outcome.digest == 99)
      #expect([outcome.revision, outcome.decisions, outcome.effects, outcome.failures].map { Array($0) } == parts)
    }
  }

  @Test func `a value that was cut off is corrupt`() {
    let whole = value([[1, 2], [3], [], [4, 5, 6]], version: 300, id: [9])
    for length in 0..<whole.count where length != whole.count - 8 {
      let error = #expect(throws: StoreError.self) {
        try whole.withView { bytes in _ = try RememberedOutcome(bytes.extracting(..<length)) }
      }
      #expect(error?.code == .corrupt)
    }
  }

  @Test func `a value of an older build has no digest, and the journal never has it`() throws {
    let whole = value([[1, 2], [3], [], [4, 5, 6]], version: 300, id: [9])
    #expect(try Array(whole.dropLast(8)).withView { try RememberedOutcome($0).digest } == nil)
    let results = try whole.withView { Array(try RememberedOutcome($0).results) }
    #expect(results == [1, 3, 0, 3, 4, 5, 6])
  }
}
