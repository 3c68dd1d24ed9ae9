import RuledCore
import Testing

@testable import RuledEngine

@Suite struct StoppedSubjectsTests {
  private static let second = Limits.second
  private static let minute = 60 * Limits.second
  private static let start = 1_000 * Limits.second

  /// The stops of one plugin on two workers.
  private final class Record {
    var stopped = StoppedSubjects()

    func name(_ number: Int) -> [UInt8] { Array("user:\(number)".utf8) }

    /// Stops an event that took 50 ms unless said otherwise.
    @discardableResult
    func stop(_ number: Int, at now: Int64, took time: Int64 = 50_000) -> StoppedSubjects.Consequence? {
      let hash = UInt64(bitPattern: Int64(number))
      return stopped.noteStop(of: name(number), hash: hash, took: time, workers: 2, at: now)
    }

    /// An event that is not stopped; returns whether stops were known of its subject.
    func run(_ number: Int) -> Bool { stopped.noteRun(of: name(number)) }

    func wait(_ number: Int, at now: Int64) -> Int64? { stopped.wait(of: name(number), at: now) }

    func putOff(at now: Int64) -> [String] {
      stopped.putOff(at: now).map { String(decoding: $0.subject, as: UTF8.self) }
    }
  }

  private let record = Record()

  @Test func `a subject is put off after three stops in a row, for a minute, then doubling to an hour`() {
    var now = Self.start
    for _ in 1...2 { #expect(record.stop(1, at: now) == nil) }
    #expect(record.wait(1, at: now) == nil)
    for minutes in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
      let time = minutes * Self.minute
      #expect(record.stop(1, at: now) == StoppedSubjects.Consequence.putOff(time))
      #expect(record.wait(1, at: now) == time)
      #expect(record.putOff(at: now) == ["user:1"])
      #expect(record.wait(2, at: now) == nil)
      now += time
      #expect(record.wait(1, at: now) == nil)
      #expect(record.putOff(at: now).isEmpty)
    }
    #expect(!record.stopped.isSuspended)
  }

  @Test func `an event that is not stopped begins the count again`() {
    for _ in 1...2 { record.stop(1, at: Self.start) }
    #expect(record.stopped.filter != 0)
    #expect(record.run(1))
    #expect(!record.run(1))
    #expect(record.stopped.filter == 0)
    for _ in 1...2 { #expect(record.stop(1, at: Self.start) == nil) }
    #expect(record.stop(1, at: Self.start) == StoppedSubjects.Consequence.putOff(Self.minute))
  }

  @Test func `few subjects never suspend a plugin, whatever they take`() {
    for number in 1...20 {
      for _ in 1...3 { record.stop(number, at: Self.start, took: Self.second) }
    }
    #expect(!record.stopped.isSuspended)
  }

  @Test func `many subjects suspend it when they take more than a tenth of the workers' time`() {
    for number in 1...40 { #expect(record.stop(number, at: Self.start + Int64(number) * 200_000) == nil) }
    let now = Self.start + 9 * Self.second
    #expect(record.stop(41, at: now) == StoppedSubjects.Consequence.suspended)
    #expect(record.stopped.isSuspended)
    #expect(record.stopped.filter == .max)
    #expect(record.stop(42, at: now) == nil, "it is suspended once")
  }

  @Test func `stops more than 10 s ago do not count`() {
    for number in 1...1_000 { record.stop(number, at: Self.start + Int64(number) * 300_000) }
    #expect(!record.stopped.isSuspended)
  }

  @Test func `the record is bounded, and the oldest subject that is not put off makes room`() {
    for number in 0..<Limits.stoppedSubjects {
      for turn in 0..<3 { record.stop(number, at: Self.start + Int64(number + turn), took: 0) }
    }
    let now = Self.start + 10 * Self.second
    #expect(record.putOff(at: now).count == Limits.stoppedSubjects)
    for _ in 1...3 { #expect(record.stop(-1, at: now, took: 0) == nil) }
    let later = Self.start + Self.minute + 10 * Self.second
    #expect(record.stop(-1, at: later, took: 0) == nil)
    #expect(record.stop(0, at: later, took: 0) == nil)
    #expect(record.stop(500, at: later, took: 0) == StoppedSubjects.Consequence.putOff(2 * Self.minute))
    #expect(record.putOff(at: later) == ["user:500"])
  }
}
