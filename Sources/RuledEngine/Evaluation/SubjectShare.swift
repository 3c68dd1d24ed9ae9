import RuledCore

/// The share of the subjects that a revision is tried on.
///
/// A subject is in it when the hash of its name and the revision, as a fraction of its range, lies below the share. So the same subjects are in
/// it on every host and after each restart, a larger share only adds subjects, and another revision gets others.
package struct SubjectShare: Sendable, Equatable {
  /// The share in percent, 0 to 100.
  package let percent: Double
  private let seed: UInt64
  /// The hashes below it are in the share; nil for all.
  private let bound: UInt64?

  package init(percent: Double, revision: String) {
    self.percent = percent
    seed = Array(revision.utf8).withView { hash64($0, seed: 0) }
    bound = percent >= 100 ? nil : UInt64(max(0, percent) / 100 * 0x1p64)
  }

  func contains(_ subject: ByteView) -> Bool {
    guard let bound else { return true }
    return hash64(subject, seed: seed) < bound
  }

  package func contains(_ subject: [UInt8]) -> Bool { subject.withView { contains($0) } }
}
