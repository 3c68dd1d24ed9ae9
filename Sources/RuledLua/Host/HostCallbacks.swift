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
  guard let context, let results else { return 0 }
  let values = UnsafeBufferPointer(start: arguments, count: Int(count))
  // The VM outlives the call, so that no reference is counted.
  return Unmanaged<PluginVM>.fromOpaque(context)._withUnsafeGuaranteedRef { vm in
    var answers = HostAnswers(results, vm.answer)
    do throws(HostRefusal) {
      try vm.answer(rb_call(UInt32(call)), HostArguments(values), &answers)
      return Int32(answers.count)
    } catch {
      answers.refuse(error)
      return -1
    }
  }
}

func findModule(
  context: UnsafeMutableRawPointer?, name: rb_slice, text: UnsafeMutablePointer<rb_slice>?,
  path: UnsafeMutablePointer<rb_slice>?
) -> Int32 {
  guard let vm = pluginVM(context), let file = vm.source.module(name.text) else { return Int32(RB_MODULE_ABSENT) }
  vm.builder.require(file.path)
  do throws(LoadError) { try file.check() } catch {
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
  defer { vm.notes?.locate(file: file.text, line: Int(line)) }
  do throws(ManifestBuilder.Refusal) {
    let settings = try vm.declare(
      rb_declaration(UInt32(kind)), index: Int(index), name.text, json.raw, file: file.text, line: Int(line))
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
  /// Takes a declaration; its index is negative if it has no function.
  ///
  /// - Returns: the settings in force if it is the declaration of the plugin itself.
  fileprivate func declare(
    _ kind: rb_declaration, index: Int, _ name: String, _ json: ByteView, file: String, line: Int
  ) throws(ManifestBuilder.Refusal) -> JSONObject? {
    let value = (try? JSONValue(parsing: json)) ?? .null
    switch kind {
    case RB_DECLARE_PLUGIN: return try builder.plugin(value)
    case RB_DECLARE_RULE: try builder.rule(name, value, file: file, line: line)
    case RB_DECLARE_QUERY: try builder.query(name, value, file: file, line: line)
    case RB_DECLARE_EVENT: try builder.event(name, value, file: file, line: line)
    case RB_DECLARE_STATE: try builder.state(value, file: file, line: line)
    case RB_DECLARE_MIGRATE: try builder.migrate(value, file: file, line: line)
    case RB_DECLARE_SETTING: try builder.setting(name, value, check: index, file: file, line: line)
    case RB_DECLARE_WEB: try builder.web(name, file: file, line: line)
    case RB_DECLARE_SINK: try builder.sink(name, value, hasHandler: index >= 0, file: file, line: line)
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
