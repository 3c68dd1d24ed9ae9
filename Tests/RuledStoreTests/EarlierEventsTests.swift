import RuledCore
import TestSupport
import Testing

@testable import RuledStore

/// The events that a subject's record has no room for.
struct EarlierEventsTests {
  @Test(arguments: UInt64(1)...20)
  func `a value is read as it was written`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let events = (0..<Int.random(in: 0...EarlierEvents.most, using: &random)).map { _ in
      RecentEvent(hash: .random(in: 0 ... .max, using: &random), seconds: .random(in: 0 ... .max, using: &random))
    }
    let buffer = ByteBuffer()
    EarlierEvents.write(events, expiring: 1_795_000_000, into: buffer)
    #expect(StoredExpiry.read(buffer.bytes) == 1_795_000_000_000_000)
    let read = EarlierEvents.read(buffer.bytes)
    #expect((0..<read.count).map { read[$0] } == events)
    for event in events { #expect(read.seconds(of: event.hash) == event.seconds) }
    #expect(read.seconds(of: .random(in: 0 ... .max, using: &random)) == nil)
  }

  @Test func `of two events of one hash the latest counts`() {
    let buffer = ByteBuffer()
    EarlierEvents.write(
      [RecentEvent(hash: 1, seconds: 2), RecentEvent(hash: 1, seconds: 3)], expiring: 3, into: buffer)
    #expect(EarlierEvents.read(buffer.bytes).seconds(of: 1) == 3)
  }

  @Test(arguments: 0...40)
  func `a value that was cut off holds its whole events`(length: Int) {
    let buffer = ByteBuffer()
    EarlierEvents.write((0..<2).map { RecentEvent(hash: $0, seconds: 7) }, expiring: 7, into: buffer)
    buffer.truncate(to: min(length, buffer.count))
    let read = EarlierEvents.read(buffer.bytes)
    #expect(read.count == max(0, buffer.count - StoredExpiry.byteCount) / RecentEvent.byteCount)
    #expect(read.seconds(of: 0) == (read.count > 0 ? 7 : nil))
  }
}
