import CLuaBridge
import RuledCore
import RuledJSON

// The functions that C calls. The context pointer is the PluginVM.

func pluginVM(_ context: UnsafeMutableRawPointer?) -> PluginVM? {
  guard let context else { return nil }
  return Unmanaged<PluginVM>.fromOpaque(context).takeUnretainedValue()
}

func answerCall(
  context: UnsafeMutableRawPointer?, call: Int32, arguments: UnsafePointer<rb_value>?, count: Int32,
  results: UnsafeMutablePointer<rb_value>?
) -> Int32 {
  guard let vm = pluginVM(context), let results else { return 0 }
  let values = UnsafeBufferPointer(start: arguments, count: Int(count))
  var answers = HostAnswers(results, vm.answer)
  do throws(HostRefusal) {
    try vm.answer(rb_call(UInt32(call)), HostArguments(values), &answers)
    return Int32(answers.count)
  } catch {
    answers.refuse(error)
    return -1
  }
}

func findModule(
  context: UnsafeMutableRawPointer?, name: rb_slice, text: UnsafeMutablePointer<rb_slice>?,
  path: UnsafeMutablePointer<rb_slice>?
) -> Int32 {
  guard let vm = pluginVM(context), let file = vm.source.module(name.text) else { return Int32(RB_MODULE_ABSENT) }
  vm.notes?.required.insert(file.path)
  do throws(LoadError) { try file.checkLevels() } catch {
    vm.declarationError.removeAll()
    vm.declarationError.append(contentsOf: error.description)
    text?.pointee = rb_slice(vm.declarationError.bytes)
    return Int32(RB_MODULE_REFUSED)
  }
  let covered = vm.covered(file)
  vm.answer.removeAll()
  vm.answer.append(contentsOf: file.path)
  let length = vm.answer.count
  covered.text.withView { vm.answer.append($0) }
  let all = vm.answer.bytes
  path?.pointee = rb_slice(all.extracting(..<length))
  text?.pointee = rb_slice(all.extracting(length...))
  return Int32(RB_MODULE_FOUND)
}

func takeDeclaration(
  context: UnsafeMutableRawPointer?, kind: Int32, index: Int32, name: rb_slice, json: rb_slice, file: rb_slice,
  line: Int32, result: UnsafeMutablePointer<rb_value>?, error: UnsafeMutablePointer<rb_slice>?
) -> Bool {
  guard let vm = pluginVM(context) else { return false }
  defer {
    vm.notes?.locate(file: file.text, line: Int(line))
    vm.notes?.manifest = vm.manifest
  }
  do throws(ManifestBuilder.Refusal) {
    let settings = try vm.declare(
      rb_declaration(UInt32(kind)), name.text, json.raw, file: file.text, line: Int(line))
    if let settings {
      vm.answer.removeAll()
      JSONValue.object(settings).write(to: vm.answer)
      result?.pointee.type = RB_JSON_FROZEN
      result?.pointee.text = rb_slice(vm.answer.bytes)
    }
    return true
  } catch let refusal {
    if let notes = vm.notes, rb_declaration(UInt32(kind)) != RB_DECLARE_PLUGIN {
      notes.note(key: nil, refusal.message)
      return true
    }
    vm.declarationError.removeAll()
    vm.declarationError.append(contentsOf: refusal.message)
    error?.pointee = rb_slice(vm.declarationError.bytes)
    return false
  }
}

extension PluginVM {
  /// Takes a declaration.
  ///
  /// - Returns: the settings in force if it is the declaration of the plugin itself.
  fileprivate func declare(
    _ kind: rb_declaration, _ name: String, _ json: ByteView, file: String, line: Int
  ) throws(ManifestBuilder.Refusal) -> JSONObject? {
    let value = (try? JSONValue(parsing: json)) ?? .null
    switch kind {
    case RB_DECLARE_PLUGIN: return try builder.plugin(value)
    case RB_DECLARE_RULE: try builder.rule(name, value, file: file, line: line)
    case RB_DECLARE_QUERY: try builder.query(name, value, file: file, line: line)
    case RB_DECLARE_EVENT: try builder.event(name, value, file: file, line: line)
    case RB_DECLARE_WEB: try builder.handler(\.hosts, "web handler", name, file: file, line: line)
    case RB_DECLARE_SINK: try builder.handler(\.sinkHandlers, "sink handler", name, file: file, line: line)
    default: try builder.test(name, file: file, line: line)
    }
    return nil
  }
}

/// Why a host function refuses its arguments; it is raised as an error in the rule.
struct HostRefusal: Error {
  var kind: Failure.Kind
  var message: String

  init(_ message: String, kind: Failure.Kind = .error) {
    self.kind = kind
    self.message = message
  }
}

/// The arguments that a rule passed to a host function.
struct HostArguments {
  private let values: UnsafeBufferPointer<rb_value>

  init(_ values: UnsafeBufferPointer<rb_value>) { self.values = values }

  var count: Int { values.count }

  /// The string at `index`; `what` names it in messages.
  func bytes(_ index: Int, _ what: String) throws(HostRefusal) -> ByteView {
    guard index < values.count, values[index].type == RB_STRING else { throw HostRefusal("\(what) must be a string") }
    return values[index].text.raw
  }

  /// The string at `index`, or nil when it is nil or missing; `what` names it in messages.
  func optionalBytes(_ index: Int, _ what: String) throws(HostRefusal) -> ByteView? {
    guard index < values.count, values[index].type != RB_NIL else { return nil }
    return try bytes(index, what)
  }

  /// Whether there is a string at `index` of more bytes than that.
  func isLonger(_ index: Int, than count: Int) -> Bool { index < values.count && values[index].text.length > count }

  /// The string at `index` as text.
  func text(_ index: Int, _ what: String) throws(HostRefusal) -> String {
    String(decoding: try bytes(index, what), as: UTF8.self)
  }

  func number(_ index: Int, _ what: String) throws(HostRefusal) -> Double {
    guard index < values.count else { throw HostRefusal("\(what) is missing") }
    switch values[index].type {
    case RB_INTEGER: return Double(values[index].integer)
    case RB_NUMBER:
      guard values[index].number.isFinite else { throw HostRefusal("\(what) must be finite") }
      return values[index].number
    default: throw HostRefusal("\(what) must be a number")
    }
  }
}

/// The results of a host function.
///
/// Their bytes are valid until the next call.
struct HostAnswers {
  private let results: UnsafeMutablePointer<rb_value>
  /// Holds the bytes of results.
  let buffer: ByteBuffer
  /// How many results there are.
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
  mutating func add(json value: JSONValue, frozen: Bool = false) {
    buffer.removeAll()
    value.write(to: buffer)
    addBuffer(frozen ? RB_JSON_FROZEN : RB_JSON)
  }

  /// Replaces the results with an error.
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
