import RuledCore

/// The events of one transaction, in the order in which plugins see them.
final class EventQueue {
  static let limit = 1024

  private var events: [QueuedEvent] = []
  private let bytes = ByteBuffer(capacity: 1024)
  /// How many raised events were left out, as no rule listens to them.
  private var unheard = 0

  var count: Int { events.count }

  var isFull: Bool { events.count + unheard >= Self.limit }

  subscript(index: Int) -> QueuedEvent { events[index] }

  /// The type of an event; valid until the next change of the queue.
  func type(of event: QueuedEvent) -> ByteView { slice(event.type) }

  /// The data of an event that was parked or raised, as JSON; valid until the next change of the queue.
  func data(of event: QueuedEvent) -> ByteView { slice(event.data) }

  /// The types that led to an event, its own last; valid until the next change of the queue.
  func chain(of event: QueuedEvent) -> ByteView { slice(event.chain) }

  func removeAll() {
    events.removeAll(keepingCapacity: true)
    unheard = 0
    bytes.removeAll()
  }

  func append(sent type: ByteView) {
    let type = copy(type)
    events.append(QueuedEvent(origin: .sent, depth: 0, rule: -1, type: type, data: 0..<0, chain: type))
  }

  func append(parked type: String, data: String) {
    let start = bytes.count
    bytes.append(contentsOf: type)
    let typeEnd = bytes.count
    bytes.append(contentsOf: data)
    events.append(
      QueuedEvent(
        origin: .parked, depth: 0, rule: -1, type: start..<typeEnd, data: typeEnd..<bytes.count, chain: 0..<0))
  }

  /// Adds an event that a plugin raised; `chain` are the types that led to it.
  func append(raised type: ByteView, data: ByteView, chain: ByteView, depth: Int, by plugin: Int, rule: Int) {
    let start = bytes.count
    bytes.append(chain)
    bytes.append(" > " as StaticString)
    let typeStart = bytes.count
    bytes.append(type)
    let end = bytes.count
    events.append(
      QueuedEvent(
        origin: .raised(by: plugin), depth: depth, rule: rule, type: typeStart..<end, data: copy(data),
        chain: start..<end))
  }

  func leaveOut() { unheard += 1 }

  private func copy(_ other: ByteView) -> Range<Int> {
    let start = bytes.count
    bytes.append(other)
    return start..<bytes.count
  }

  private func slice(_ range: Range<Int>) -> ByteView {
    bytes.bytes.extracting(range)
  }
}

/// An event of a transaction: the one that was sent, or one that a rule raised.
struct QueuedEvent {
  enum Origin: Equatable {
    /// It is the transaction's own event.
    case sent
    /// It was parked together with the transaction's event and is retried with it.
    case parked
    /// A rule of the plugin with that index raised it.
    case raised(by: Int)
  }

  let origin: Origin
  let depth: Int
  /// The rule that raised it, as an index in its plugin; -1 for none.
  let rule: Int
  let type: Range<Int>
  let data: Range<Int>
  let chain: Range<Int>

  var isRaised: Bool { if case .raised = origin { true } else { false } }

  func isRaised(by plugin: Int) -> Bool { origin == .raised(by: plugin) }
}
