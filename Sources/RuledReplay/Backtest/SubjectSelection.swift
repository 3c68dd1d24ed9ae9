import RuledCore
package import RuledEngine

/// Which subjects' events a backtest plays: those with a prefix, and a share of them.
package struct SubjectSelection: Sendable {
  private let prefix: [UInt8]
  /// The hashes below it are in the share; nil for all.
  private let bound: UInt64?

  /// The subjects whose names begin with `prefix`, and of these the share that a text such as `10%` states; nil if it states none.
  package init?(prefix: String, sample: String) {
    let number = sample.hasSuffix("%") ? String(sample.dropLast()) : sample
    guard let percent = Double(number), percent > 0, percent <= 100 else { return nil }
    self.prefix = Array(prefix.utf8)
    bound = percent >= 100 ? nil : UInt64(percent / 100 * 0x1p64)
  }

  /// Whether a subject's events are played; which subjects a share has is the same in every run.
  package func contains(_ subject: String) -> Bool {
    if prefix.isEmpty, bound == nil { return true }
    let name = Array(subject.utf8)
    guard name.starts(with: prefix) else { return false }
    return bound.map { name.hash64(seed: 0) < $0 } ?? true
  }
}

extension RulesSource {
  /// These rules with some plugins of others in place of their own; all of the others' when none are named.
  package func taking(_ plugins: [String]?, from other: RulesSource) -> RulesSource {
    guard let plugins else { return other }
    return RulesSource(
      plugins: self.plugins.filter { !plugins.contains($0.name) } + other.plugins.filter { plugins.contains($0.name) })
  }
}
