import RuledCore

/// The hot subjects of one worker, bounded in bytes: the least recently used ones go first, but none that has an uncommitted event.
struct SubjectCache {
  private var places: [UInt64: Subject] = [:]
  private var newest: Subject?
  private unowned(unsafe) var oldest: Subject?
  /// About how many bytes the cached subjects take.
  private(set) var bytes = 0
  /// How many bytes they may take.
  let limit: Int

  init(limit: Int) { self.limit = limit }

  /// How many subjects are held.
  private(set) var count = 0

  /// The subject of that name, or nil when it is not hot; it counts as used now.
  mutating func find(_ name: UnsafeRawBufferPointer, hash: UInt64) -> Subject? {
    var candidate = places[hash]
    while let subject = candidate {
      if subject.name.withUnsafeBytes({ $0.elementsEqual(name) }) {
        moveToFront(subject)
        return subject
      }
      candidate = subject.chained
    }
    return nil
  }

  /// Takes a subject in.
  mutating func insert(_ subject: Subject) {
    subject.chained = places[subject.hash]
    places[subject.hash] = subject
    link(subject)
    bytes += subject.cost
    count += 1
  }

  /// Notes that a subject's cost has changed by `difference` bytes.
  mutating func changed(by difference: Int) { bytes += difference }

  /// Lets subjects go until the rest fits; those with an event that is not yet durable stay.
  mutating func evict(durable: UInt64) {
    var candidate = oldest
    while bytes > limit, let subject = candidate {
      candidate = subject.newer
      if subject.lastCommit <= durable { remove(subject) }
    }
  }

  /// Lets one subject go.
  mutating func remove(_ subject: Subject) {
    unlink(subject)
    bytes -= subject.cost
    count -= 1
    guard let first = places[subject.hash] else { return }
    if first === subject {
      places[subject.hash] = subject.chained
    } else {
      var before = first
      while let next = before.chained, next !== subject { before = next }
      before.chained = subject.chained
    }
    subject.chained = nil
  }

  /// Lets all subjects go.
  mutating func removeAll() {
    while let subject = newest {
      newest = subject.older
      subject.newer = nil
      subject.chained = nil
    }
    places.removeAll(keepingCapacity: true)
    newest = nil
    oldest = nil
    bytes = 0
    count = 0
  }

  // MARK: Order of use

  private mutating func link(_ subject: Subject) {
    subject.older = newest
    subject.newer = nil
    newest?.newer = subject
    newest = subject
    if oldest == nil { oldest = subject }
  }

  private mutating func unlink(_ subject: Subject) {
    let newer = subject.newer
    let older = subject.older
    if let newer { newer.older = older } else { newest = older }
    if let older { older.newer = newer } else { oldest = newer }
    subject.newer = nil
    subject.older = nil
  }

  private mutating func moveToFront(_ subject: Subject) {
    guard newest !== subject else { return }
    unlink(subject)
    link(subject)
  }
}
