import RuledCore
import RuledEngine

/// On what terms another node evaluates for this one, and when it may not.
extension Services {
  /// What a node has to know of this daemon to evaluate as it does.
  var shareTerms: ShareTerms {
    ShareTerms(
      manualClock: manualClock, now: context.clock.now.microseconds, steady: context.clock.steady,
      journals: hasJournals)
  }

  /// Where the manual clock stands, in microseconds since 1970; nil if the clock runs.
  var manualClock: Int64? { context.clock.isManual ? context.clock.now.microseconds : nil }

  /// Whether commits have records for the journal.
  var hasJournals: Bool { context.journals.load(ordering: .relaxed) }

  /// Whether a rollout runs, in which the owner evaluates for all subjects.
  var isRollingOut: Bool { status.rollout?.stage == .running }

  /// Why a node with that revision of the rules can't evaluate now; nil if it can.
  func reasonNotToShare(_ revision: String) -> String? {
    if isRollingOut { return "a rollout runs: the owner evaluates for all" }
    let live = status.catalog?.revision ?? ""
    return revision == live ? nil : "revision \(live) is in force, not \(revision)"
  }
}
