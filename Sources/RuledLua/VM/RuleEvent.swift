import CLuaBridge
package import RuledCore
package import RuledJSON

/// An event as rules see it; its bytes are borrowed for the time of the call.
package struct RuleEvent {
  var native: rb_event

  /// An event.
  ///
  /// - Parameters:
  ///   - id: its id.
  ///   - source: who observed it; may be empty.
  ///   - type: what happened.
  ///   - subject: the subject to whom it happened.
  ///   - origin: where it comes from, as rules see it.
  ///   - sender: the subject that sent a message; empty for none.
  ///   - time: when it happened, in microseconds since 1970.
  ///   - now: when it is evaluated, likewise.
  ///   - earliestTimer: the earliest due time of a timer that the plugin sets, likewise; nil for any.
  ///   - data: its data, nil for none.
  ///   - attributes: the object whose further members are extensions, nil for none; in the same text as the data.
  ///   - seed: of `math.random`.
  ///   - state: the plugin's state as JSON; nil when there is none yet.
  ///   - isExplained: whether reads of the state are recorded.
  ///   - depth: how many raises deep it is.
  ///   - chain: the types that led to it, its own last.
  package init(
    id: ByteView, source: ByteView, type: ByteView, subject: ByteView, origin: ByteView = ByteView("client"),
    sender: ByteView = .empty, time: Int64, now: Int64, earliestTimer: Int64? = nil, data: TapeValue?,
    attributes: TapeValue?, seed: UInt64, state: ByteView?, isExplained: Bool, depth: Int, chain: ByteView
  ) {
    native = rb_event()
    native.id = rb_slice(id)
    native.source = rb_slice(source)
    native.type = rb_slice(type)
    native.subject = rb_slice(subject)
    native.origin = rb_slice(origin)
    native.sender = rb_slice(sender)
    native.time = Double(time) / 1e6
    native.now = Double(now) / 1e6
    native.earliest_timer = earliestTimer.map { Double($0) / 1e6 } ?? -.infinity
    if let text = data ?? attributes { native.json = rb_json(text) }
    native.data = data?.index ?? 0
    native.attributes = attributes?.index ?? 0
    native.seed = seed
    native.state = Self.slice(ofState: state)
    native.explain = isExplained
    native.depth = Int32(depth)
    native.chain = rb_slice(chain)
  }

  /// The event of a query or a handler: a subject or none, its state, which can't be changed, and the time.
  package init(reading subject: ByteView?, state: ByteView?, now: Int64) {
    native = rb_event()
    native.time = Double(now) / 1e6
    native.now = Double(now) / 1e6
    native.read_only = true
    guard let subject else { return }
    native.subject = rb_slice(subject)
    native.state = Self.slice(ofState: state)
  }

  /// A state as C takes it: one that does not exist yet is empty, but has an address.
  static func slice(ofState state: ByteView?) -> rb_slice {
    rb_slice(state ?? ByteView(""))
  }
}

extension rb_slice {
  var raw: ByteView { ByteView(start: bytes, count: length) }

  var text: String { raw.text }

  /// The slice that borrows `bytes`.
  init(_ bytes: ByteView) {
    self.init(bytes: bytes.baseAddress?.assumingMemoryBound(to: CChar.self), length: bytes.count)
  }
}

extension String {
  /// Calls `body` with the UTF-8 of the text.
  func withSlice<Result>(_ body: (rb_slice) -> Result) -> Result {
    withView { body(rb_slice($0)) }
  }
}

extension rb_json {
  /// The parsed text that holds a value.
  init(_ value: TapeValue) { self.init(tape: value.tape, strings: value.strings) }
}
