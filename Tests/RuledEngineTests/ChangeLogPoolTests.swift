import RuledCore
import Testing

@testable import RuledEngine

@Suite struct ChangeLogPoolTests {
  private static func fill(_ log: ChangeLog) {
    Array("user:1".utf8).withView { log.append(forgotten: $0) }
  }

  @Test func `a log that nobody holds is filled again`() {
    let pool = ChangeLogPool()
    var log = pool.take()
    Self.fill(log)
    let first = ObjectIdentifier(log)
    pool.giveBack(consume log)
    log = pool.take()
    #expect(ObjectIdentifier(log) == first && log.isEmpty && log.bytes.count == 0)
  }

  @Test func `a log that somebody reads is left to them`() {
    let pool = ChangeLogPool()
    let read = pool.take()
    Self.fill(read)
    pool.giveBack(read)
    let next = pool.take()
    #expect(next !== read && read.count == 1)
  }
}
