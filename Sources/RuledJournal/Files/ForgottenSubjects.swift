import RuledCore
import RuledStore

/// Forgotten subjects whose entries have not been erased from the files yet; readers skip these entries.
///
/// For each subject, the file `forgotten` has a digest of the name in place of the name, its hash in filters, and the sequence up to which
/// entries are hidden.
struct ForgottenSubjects: Sendable, Equatable {
  /// A digest of a subject's name.
  struct Key: Hashable, Sendable {
    let high: UInt64
    let low: UInt64
    /// The subject's hash in filters.
    let filter: UInt64
  }

  /// The last hidden sequence of each subject.
  private(set) var bounds: [Key: UInt64] = [:]

  static let name = "forgotten"

  var isEmpty: Bool { bounds.isEmpty }

  init() {}

  /// Hides a subject's entries up to a sequence; returns false if they are hidden already.
  mutating func add(_ subject: ByteView, through sequence: UInt64) -> Bool {
    let key = Key(subject)
    guard bounds[key, default: 0] < sequence else { return false }
    bounds[key] = sequence
    return true
  }

  mutating func formUnion(_ other: ForgottenSubjects) { bounds.merge(other.bounds) { max($0, $1) } }

  /// Removes the subjects that `other` has, unless more of their entries are hidden by now.
  mutating func subtract(_ other: ForgottenSubjects) {
    for (key, bound) in other.bounds where bounds[key] == bound { bounds[key] = nil }
  }

  /// Whether a file or a block may have entries to be erased.
  func concerns(_ first: UInt64, _ filter: SubjectFilter) -> Bool {
    bounds.contains { key, bound in first <= bound && filter.mayContain(key.filter) }
  }

  func isErased(_ subject: ByteView, after sequence: UInt64) -> Bool { bounds[Key(subject), default: 0] > sequence }

  /// The first sequence of a `forget`; the greatest number if there is none.
  var first: UInt64 { bounds.values.min() ?? .max }

  /// The last hidden sequence; 0 when there is none.
  var last: UInt64 { bounds.values.max() ?? 0 }

  func hides(_ view: EntryView) -> Bool {
    view.origin != .forget && erases(view)
  }

  /// Whether an entry is to be erased; unlike for `hides`, that includes the `forget` itself, which has the name.
  func erases(_ view: EntryView) -> Bool {
    guard !bounds.isEmpty, !view.subject.isEmpty else { return false }
    return bounds[Key(view.subject)].map { view.sequence <= $0 } ?? false
  }

  // MARK: The file

  private static let magic: UInt64 = 0x7275_6C65_6466_6731

  /// The subjects that the file in a journal's folder has; none when there is no file.
  init(in folder: String, _ files: any FileSystem) throws(StoreError) {
    let path = "\(folder)/\(Self.name)"
    guard files.exists(path) else { return }
    let file = try files.open(path, .read)
    let size = try file.size()
    let buffer = ByteBuffer(capacity: size)
    try file.read(size, at: 0, into: buffer)
    defer { withExtendedLifetime(buffer) {} }
    var reader = BlockReader(buffer.bytes)
    guard size >= 16, reader.word() == Self.magic, let sum = reader.word(),
      sum == hash64(buffer.bytes.extracting(16...), seed: Self.magic)
    else {
      throw StoreError(.corrupt, "\(path) is damaged: it is not known which subjects are to be erased from the journal")
    }
    while let high = reader.word(), let low = reader.word(), let filter = reader.word(), let bound = reader.word() {
      bounds[Key(high: high, low: low, filter: filter)] = bound
    }
  }

  /// The subjects that the file has or, if it is damaged, those of the `forget`s in the journal's files; and the damage.
  static func read(
    in folder: String, or contents: JournalFiles, _ files: any FileSystem
  ) throws(StoreError) -> (subjects: ForgottenSubjects, damage: StoreError?) {
    do throws(StoreError) { return (try ForgottenSubjects(in: folder, files), nil) } catch {
      guard error.code == .corrupt else { throw error }
      var found = ForgottenSubjects()
      _ = try contents.forEach(in: JournalRange(), files, hides: { _ in false }, noteDamage: { _ in }) { view in
        if view.origin == .forget, !view.subject.isEmpty { _ = found.add(view.subject, through: view.sequence) }
        return true
      }
      return (found, error)
    }
  }

  /// Writes the file, durably, in place of the one before.
  func write(to folder: String, _ files: any FileSystem) throws(StoreError) {
    let body = ByteBuffer(capacity: bounds.count * 32)
    for (key, bound) in bounds.sorted(by: { ($0.key.high, $0.key.low) < ($1.key.high, $1.key.low) }) {
      for word in [key.high, key.low, key.filter, bound] { body.append(bigEndian: word) }
    }
    let all = ByteBuffer(capacity: body.count + 16)
    all.append(bigEndian: Self.magic)
    all.append(bigEndian: hash64(body.bytes, seed: Self.magic))
    all.append(body)
    defer { withExtendedLifetime((body, all)) {} }
    try files.replace("\(folder)/\(Self.name)", with: all.bytes)
  }
}

extension ForgottenSubjects.Key {
  init(_ subject: ByteView) {
    let words = SHA256.hash(subject).words
    self.init(high: words[0], low: words[1], filter: SubjectFilter.hash(subject))
  }
}
