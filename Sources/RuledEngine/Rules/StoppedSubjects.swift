import RuledCore

/// The subjects on whose events a plugin was stopped lately: which of them are put off, and whether the plugin is suspended for its cost to all.
///
/// One client can make a plugin fail on its own subjects, but must not take it from the others. So a subject on whose events the plugin was
/// stopped three times in a row is put off alone, for a minute, then for twice as long each time, up to an hour. The plugin is suspended only
/// when the stopped events of many subjects take much of the workers' time.
///
/// Times are of a monotonic clock, in microseconds.
struct StoppedSubjects {
  enum Consequence: Equatable {
    /// The subject is put off, for so many microseconds.
    case putOff(Int64)
    case suspended
  }

  private struct Stops {
    let hash: UInt64
    var inARow = 0
    var lastWait: Int64 = 0
    var until: Int64 = 0
    var last: Int64 = 0
  }

  /// The stopped events of one second.
  private struct Second {
    var number: Int64 = -1
    /// Processor time.
    var taken: Int64 = 0
    /// The hashes of the subjects, of more than `Limits.subjectsBeforeSuspension` only some.
    var subjects: Set<UInt64> = []
  }

  var isSuspended = false
  private var stops: [[UInt8]: Stops] = [:]
  private var seconds = [Second](repeating: Second(), count: Int(Limits.stopWindow / Limits.second))

  /// A bit for each known subject, by its hash; all if the plugin is suspended.
  var filter: UInt64 {
    isSuspended ? .max : stops.values.reduce(0) { $0 | Self.bit($1.hash) }
  }

  /// The bit of a subject in the filter.
  static func bit(_ hash: UInt64) -> UInt64 { 1 << (hash & 63) }

  /// For how many microseconds the subject is still put off; nil if it is not.
  func wait(of subject: [UInt8], at now: Int64) -> Int64? {
    guard let until = stops[subject]?.until, until > now else { return nil }
    return until - now
  }

  /// The subjects that are put off, with the microseconds that are left, in order of name.
  func putOff(at now: Int64) -> [(subject: [UInt8], wait: Int64)] {
    stops.filter { $0.value.until > now }.map { ($0.key, $0.value.until - now) }
      .sorted { $0.0.lexicographicallyPrecedes($1.0) }
  }

  /// Forgets a subject, as the plugin was not stopped on its last event; returns whether anything was known of it.
  mutating func noteRun(of subject: [UInt8]) -> Bool { stops.removeValue(forKey: subject) != nil }

  /// Notes a stopped event with its processor time, on one of so many workers.
  mutating func noteStop(
    of subject: [UInt8], hash: UInt64, took time: Int64, workers: Int, at now: Int64
  ) -> Consequence? {
    note(hash, time, at: now)
    if !isSuspended, isTooDear(workers, at: now) {
      isSuspended = true
      return .suspended
    }
    stops = stops.filter { max($0.value.last, $0.value.until) + Limits.longestPutOffTime > now }
    guard var known = stops[subject] ?? room(for: hash, at: now) else { return nil }
    defer { stops[subject] = known }
    known.inARow += 1
    known.last = now
    guard known.inARow >= Limits.stopsBeforePuttingOff else { return nil }
    known.lastWait = known.lastWait == 0 ? Limits.putOffTime : min(2 * known.lastWait, Limits.longestPutOffTime)
    known.until = now + known.lastWait
    return .putOff(known.lastWait)
  }

  /// A new entry, for which a full table removes the oldest subject that is not put off; nil if all are put off.
  private mutating func room(for hash: UInt64, at now: Int64) -> Stops? {
    if stops.count >= Limits.stoppedSubjects {
      let oldest = stops.filter { $0.value.until <= now }.min { $0.value.last < $1.value.last }
      guard let oldest else { return nil }
      stops[oldest.key] = nil
    }
    return Stops(hash: hash)
  }

  // MARK: The cost of stops

  private mutating func note(_ hash: UInt64, _ time: Int64, at now: Int64) {
    let number = now / Limits.second
    let index = Int(number % Int64(seconds.count))
    if seconds[index].number != number { seconds[index] = Second(number: number) }
    seconds[index].taken += time
    if seconds[index].subjects.count <= Limits.subjectsBeforeSuspension { seconds[index].subjects.insert(hash) }
  }

  private func isTooDear(_ workers: Int, at now: Int64) -> Bool {
    let number = now / Limits.second
    let recent = seconds.filter { $0.number > number - Int64(seconds.count) && $0.number <= number }
    let taken = recent.reduce(0) { $0 + $1.taken }
    guard taken > Int64(workers) * Limits.stopWindow / Limits.stoppedFraction else { return false }
    return recent.reduce(into: Set<UInt64>()) { $0.formUnion($1.subjects) }.count > Limits.subjectsBeforeSuspension
  }
}
