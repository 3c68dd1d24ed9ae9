import CLuaBridge
import RuledCore

/// Why a host function refuses its arguments; raised in the rule with its line.
struct HostRefusal: Error {
  var kind: Failure.Kind
  var message: String

  init(_ message: String, kind: Failure.Kind = .error) {
    self.kind = kind
    self.message = message
  }
}

/// What a rule handed to a host function.
struct HostArguments {
  private let values: UnsafeBufferPointer<rb_value>

  init(_ values: UnsafeBufferPointer<rb_value>) { self.values = values }

  /// How many there are.
  var count: Int { values.count }

  /// The string at a place.
  func bytes(_ place: Int, _ what: String) throws(HostRefusal) -> UnsafeRawBufferPointer {
    guard place < values.count, values[place].type == RB_STRING else { throw HostRefusal("\(what) must be a string") }
    return values[place].text.raw
  }

  /// The string at a place, or nil when it is nil or left out.
  func optionalBytes(_ place: Int, _ what: String) throws(HostRefusal) -> UnsafeRawBufferPointer? {
    guard place < values.count, values[place].type != RB_NIL else { return nil }
    return try bytes(place, what)
  }

  /// The string at a place, as text.
  func text(_ place: Int, _ what: String) throws(HostRefusal) -> String {
    String(decoding: try bytes(place, what), as: UTF8.self)
  }

  /// The number at a place.
  func number(_ place: Int, _ what: String) throws(HostRefusal) -> Double {
    guard place < values.count else { throw HostRefusal("\(what) is missing") }
    switch values[place].type {
    case RB_INTEGER: return Double(values[place].integer)
    case RB_NUMBER:
      guard values[place].number.isFinite else { throw HostRefusal("\(what) must be finite") }
      return values[place].number
    default: throw HostRefusal("\(what) must be a number")
    }
  }
}

/// What a host function answers; the bytes stay until the next call.
struct HostAnswers {
  private let results: UnsafeMutablePointer<rb_value>
  /// Where answers' bytes are kept.
  let buffer: ByteBuffer
  /// How many results there are.
  private(set) var count = 0

  init(_ results: UnsafeMutablePointer<rb_value>, _ buffer: ByteBuffer) {
    self.results = results
    self.buffer = buffer
    buffer.removeAll()
  }

  /// Adds nil.
  mutating func addNil() { add(rb_value()) }

  /// Adds a boolean.
  mutating func add(_ value: Bool) {
    add(rb_value(type: RB_BOOLEAN, integer: value ? 1 : 0, number: 0, text: rb_slice()))
  }

  /// Adds an integer.
  mutating func add(_ value: Int) {
    add(rb_value(type: RB_INTEGER, integer: Int64(value), number: 0, text: rb_slice()))
  }

  /// Adds a float.
  mutating func add(_ value: Double) { add(rb_value(type: RB_NUMBER, integer: 0, number: value, text: rb_slice())) }

  /// Adds what stands in `buffer` as a string or as JSON; it must be the last result with bytes.
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
  mutating func add(json value: JSONValue, frozen: Bool = false) {
    buffer.removeAll()
    value.write(to: buffer)
    addBuffer(frozen ? RB_JSON_FROZEN : RB_JSON)
  }

  /// Makes the answer an error.
  mutating func refuse(_ refusal: HostRefusal) {
    buffer.removeAll()
    buffer.append(contentsOf: refusal.message)
    count = 0
    addBuffer(RB_STRING)
    let kinds: [Failure.Kind] = [.error, .instructions, .memory, .time, .state, .value, .cycle]
    results[0].integer = Int64(kinds.firstIndex(of: refusal.kind) ?? 0)
  }

  private mutating func add(_ value: rb_value) {
    results[count] = value
    count += 1
  }
}
