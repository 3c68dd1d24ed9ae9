import CLinux
import RuledCore

/// The hot subjects of one worker, bounded in bytes: what was not used for long goes first, but nothing that has an uncommitted event.
///
/// A table of places, each for one subject, which stands at the place of its hash or behind it with no free one between. To find room, a
/// hand goes round the table and lets those go that were not used since it last came by; so using a subject costs one flag.
final class SubjectCache {
  private struct Place {
    var hash: UInt64
    var subject: Unmanaged<Subject>?
  }

  private static let fewest = 64

  private var places: UnsafeMutablePointer<Place>
  private var mask: Int
  private var hand = 0
  /// How many subjects are held.
  private(set) var count = 0
  /// About how many bytes the cached subjects take.
  private(set) var bytes = 0
  /// How many bytes they may take.
  let limit: Int

  init(limit: Int) {
    self.limit = limit
    places = Self.table(Self.fewest)
    mask = Self.fewest - 1
  }

  deinit {
    removeAll()
    places.deallocate()
  }

  private static func table(_ capacity: Int) -> UnsafeMutablePointer<Place> {
    let places = UnsafeMutablePointer<Place>.allocate(capacity: capacity)
    places.initialize(repeating: Place(hash: 0, subject: nil), count: capacity)
    return places
  }

  /// The subject of that name, or nil when it is not hot; it counts as used now.
  func find(_ name: UnsafeRawBufferPointer, hash: UInt64) -> Subject? {
    var place = home(hash)
    while let held = places[place].subject {
      if places[place].hash == hash {
        let subject = held.takeUnretainedValue()
        if ByteOrder.equal(subject.name, name) {
          subject.isUsed = true
          return subject
        }
      }
      place = (place + 1) & mask
    }
    return nil
  }

  // MARK: Looking ahead

  /// Brings the subject of that hash, should it be hot, a step nearer to the processor: three steps before it is found, which is then quick.
  ///
  /// A subject is scattered over memory, and each part tells where the next lies.
  func approach(_ hash: UInt64, _ step: Approach) {
    switch step {
    case .place: cl_prefetch(places + home(hash))
    case .subject:
      guard let held = held(hash) else { return }
      cl_prefetch(held.toOpaque())
      cl_prefetch(held.toOpaque() + 64)
    case .bytes: held(hash)?._withUnsafeGuaranteedRef { $0.approach() }
    }
  }

  /// The steps in which a subject comes nearer, in their order.
  enum Approach: Int, CaseIterable {
    /// Where the table says where it lies.
    case place
    /// What tells where its name and record lie.
    case subject
    /// The bytes of both.
    case bytes
  }

  private func held(_ hash: UInt64) -> Unmanaged<Subject>? {
    var place = home(hash)
    while let subject = places[place].subject {
      if places[place].hash == hash { return subject }
      place = (place + 1) & mask
    }
    return nil
  }

  /// Takes a subject in, which is not there.
  func insert(_ subject: Subject) {
    if (count + 1) * 4 > (mask + 1) * 3 { grow() }
    put(Place(hash: subject.hash, subject: Unmanaged.passRetained(subject)))
    bytes += subject.cost
    count += 1
  }

  /// Notes that a subject's cost has changed by `difference` bytes.
  func changed(by difference: Int) { bytes += difference }

  /// Lets subjects go until the rest fits; those with an event that is not yet durable stay.
  func evict(durable: UInt64) {
    // Twice around: once to forget what was used, once to let go.
    var steps = (mask + 1) * 2
    while bytes > limit, steps > 0 {
      steps -= 1
      hand &= mask
      guard let subject = places[hand].subject?.takeUnretainedValue() else {
        hand += 1
        continue
      }
      if subject.isUsed || subject.lastCommit > durable {
        subject.isUsed = false
        hand += 1
      } else {
        remove(at: hand)
      }
    }
  }

  /// Lets all subjects go.
  func removeAll() {
    for place in 0...mask {
      places[place].subject?.release()
      places[place].subject = nil
    }
    bytes = 0
    count = 0
  }

  // MARK: Places

  private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & mask }

  private func put(_ new: Place) {
    var place = home(new.hash)
    while places[place].subject != nil { place = (place + 1) & mask }
    places[place] = new
  }

  private func grow() {
    let old = places
    let capacity = mask + 1
    places = Self.table(capacity * 2)
    mask = capacity * 2 - 1
    for place in 0..<capacity where old[place].subject != nil { put(old[place]) }
    old.deallocate()
  }

  /// Empties a place and moves those up that stand behind it for want of it.
  private func remove(at place: Int) {
    guard let subject = places[place].subject?.takeRetainedValue() else { return }
    bytes -= subject.cost
    count -= 1
    var free = place
    var next = (place + 1) & mask
    while places[next].subject != nil {
      let distance = (next - home(places[next].hash)) & mask
      if distance >= (next - free) & mask {
        places[free] = places[next]
        free = next
      }
      next = (next + 1) & mask
    }
    places[free].subject = nil
  }
}
