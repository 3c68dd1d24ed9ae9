import CLuaBridge
import RuledCore
import RuledJSON

/// The results of a host function.
///
/// Their bytes are valid until the next call.
struct HostAnswers {
  private let results: UnsafeMutablePointer<rb_value>
  let buffer: ByteBuffer
  private(set) var count = 0

  init(_ results: UnsafeMutablePointer<rb_value>, _ buffer: ByteBuffer) {
    self.results = results
    self.buffer = buffer
    buffer.removeAll()
  }

  mutating func addNil() { add(rb_value()) }

  mutating func add(_ value: Bool) {
    add(rb_value(type: RB_BOOLEAN, integer: value ? 1 : 0, number: 0, text: rb_slice()))
  }

  mutating func add(_ value: Int) {
    add(rb_value(type: RB_INTEGER, integer: Int64(value), number: 0, text: rb_slice()))
  }

  mutating func add(_ value: Double) { add(rb_value(type: RB_NUMBER, integer: 0, number: value, text: rb_slice())) }

  /// Adds the content of `buffer` as a string or as JSON; it must be the last result with bytes.
  mutating func addBuffer(_ type: rb_type) {
    add(rb_value(type: type, integer: 0, number: 0, text: rb_slice(buffer.bytes)))
  }

  /// Adds text; it must be the only result with bytes.
  mutating func add(_ text: String) {
    buffer.removeAll()
    buffer.append(contentsOf: text)
    addBuffer(RB_STRING)
  }

  /// Adds a JSON value; it must be the only result with bytes.
  mutating func add(json value: JSONValue) {
    buffer.removeAll()
    value.write(to: buffer)
    addBuffer(RB_JSON)
  }

  /// Replaces the results with an error.
  mutating func refuse(_ refusal: HostRefusal) {
    buffer.removeAll()
    buffer.append(contentsOf: refusal.message)
    count = 0
    addBuffer(RB_STRING)
    results[0].integer = Int64(Failure.Kind.native.firstIndex(of: refusal.kind) ?? 0)
  }

  private mutating func add(_ value: rb_value) {
    results[count] = value
    count += 1
  }
}

extension Failure.Kind {
  /// The kinds by the numbers that they have in C.
  static let native: [Failure.Kind] = [.error, .instructions, .memory, .time, .state, .value, .cycle]
}
