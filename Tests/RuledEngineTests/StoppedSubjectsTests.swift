import RuledCore
import Testing

@testable import RuledEngine

@Suite struct StoppedSubjectsTests {
  private static let second = Limits.second
  private static let minute = 60 * Limits.second
  private static let start = 1_000 * Limits.second

  private var stopped = StoppedSubjects()

  private static func name(_ number: Int) -> [UInt8] { Array("user:\(number)".utf8) }

  /// Stops an event that took 50 ms, of two workers.
  private mutating func stop(
    _ number: Int, at now: Int64, took time: Int64 = 50_000
  ) -> StoppedSubjects.Consequence? {
    stopped.noteStop(of: Self.name(number), hash: UInt64(bitPattern: Int64(number)), took: time, workers: 2, at: now)
  }

  @Test mutating func `a subject is put off after three stops in a row, for a minute, then doubling to an hour`() {
    var now = Self.start
    #expect(stop(1, at: now) == nil && stop(1, at: now) == nil)
    #expect(stopped.wait(of: Self.name(1), at: now) == nil)
    for minutes in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
      #expect(stop(1, at: now) == .putOff(minutes * Self.minute))
      #expect(stopped.wait(of: Self.name(1), at: now) == minutes * Self.minute)
      #expect(stopped.putOff(at: now).map(\.subject) == [Self.name(1)])
      #expect(stopped.wait(of: Self.name(2), at: now) == nil)
      now += minutes * Self.minute
      #expect(stopped.wait(of: Self.name(1), at: now) == nil && stopped.putOff(at: now).isEmpty)
    }
    #expect(!stopped.isSuspended)
  }

  @Test mutating func `an event that is not stopped begins the count again`() {
    for _ in 1...2 { _ = stop(1, at: Self.start) }
    #expect(stopped.filter != 0)
    #expect(stopped.noteRun(of: Self.name(1)))
    #expect(stopped.filter == 0)
    for _ in 1...2 { #expect(stop(1, at: Self.start) == nil) }
    #expect(stop(1, at: Self.start) == .putOff(Self.minute))
  }

  @Test mutating func `few subjects never suspend a plugin, whatever they take`() {
    for number in 1...20 {
      for _ in 1...3 { #expect(stop(number, at: Self.start, took: Self.second) != .suspended) }
    }
    #expect(!stopped.isSuspended)
  }

  @Test mutating func `many subjects suspend it when they take more than a tenth of the workers' time`() {
    for number in 1...40 { #expect(stop(number, at: Self.start + Int64(number) * 200_000) == nil) }
    #expect(stop(41, at: Self.start + 9 * Self.second) == .suspended)
    #expect(stopped.isSuspended && stopped.filter == .max)
    #expect(stop(42, at: Self.start + 9 * Self.second) != .suspended)
  }

  @Test mutating func `what is older than 10 s does not count`() {
    for number in 1...1_000 { #expect(stop(number, at: Self.start + Int64(number) * 300_000) != .suspended) }
    #expect(!stopped.isSuspended)
  }

  @Test mutating func `the record is bounded, and the oldest subject that is not put off makes room`() {
    for number in 0..<Limits.stoppedSubjects {
      for turn in 0..<3 { _ = stop(number, at: Self.start + Int64(number + turn), took: 0) }
    }
    let now = Self.start + 10 * Self.second
    #expect(stopped.putOff(at: now).count == Limits.stoppedSubjects)
    for _ in 1...3 { #expect(stop(-1, at: now, took: 0) == nil) }
    let later = Self.start + Self.minute + 10 * Self.second
    #expect(stop(-1, at: later, took: 0) == nil)
    #expect(stop(0, at: later, took: 0) == nil)
    #expect(stop(500, at: later, took: 0) == .putOff(2 * Self.minute))
    #expect(stopped.putOff(at: later).count == 1)
  }
}
