import CLuaBridge
import RuledCore

/// The shape of the plugin's state, and the steps between its versions.
extension PluginVM {
  /// Gives the VM the shape that the plugin has declared.
  func setShape() throws(LoadError) {
    if let problem = manifest.stepsProblem { throw problem }
    guard let shape = manifest.state else { return }
    var parts: [rb_fit_part] = []
    let names = ByteBuffer(capacity: 256)
    var ranges: [Range<Int>] = []
    shape.members.appendFit(to: &parts, &ranges, names, named: "", isOptional: false)
    for (index, range) in ranges.enumerated() { parts[index].name = rb_slice(names.bytes.extracting(range)) }
    _ = rb_set_fit(handle, parts, parts.count, shape.isClosed)
    withExtendedLifetime(names) {}
  }

  /// Brings a state from one version to another by the plugin's steps, under a new budget; `output` has it then.
  ///
  /// With `checksFit`, it must have the shape that this plugin declares. The operations are those of the steps: lines for the log.
  package func migrate(
    _ event: inout RuleEvent, from: Int, to: Int, budget: Budget, stateLimit: Int, checksFit: Bool
  ) -> CallResult {
    var native = budget.native
    drawn = 0
    lacksZones = false
    return result(rb_migrate(handle, &event.native, &native, Int32(from), Int32(to), stateLimit, checksFit))
  }

  /// How many instructions of the last budget are left.
  package var instructionsLeft: Int { Int(max(0, rb_instructions_left(handle))) }
}

extension DataSchema {
  /// Appends the parts of an object with these members, in order.
  fileprivate func appendFit(
    to parts: inout [rb_fit_part], _ names: inout [Range<Int>], _ text: ByteBuffer, named name: String, isOptional: Bool
  ) {
    text.appendName(name, to: &names)
    parts.append(rb_fit_part(name: rb_slice(), type: RB_FIT_MEMBERS, optional: isOptional, parts: Int32(members.count)))
    for member in members {
      member.type.appendFit(to: &parts, &names, text, named: member.name, isOptional: member.isOptional)
    }
  }
}

extension DataType {
  fileprivate func appendFit(
    to parts: inout [rb_fit_part], _ names: inout [Range<Int>], _ text: ByteBuffer, named name: String, isOptional: Bool
  ) {
    if case .members(let schema) = self {
      return schema.appendFit(to: &parts, &names, text, named: name, isOptional: isOptional)
    }
    text.appendName(name, to: &names)
    let isOfElements = if case .array(.some) = self { true } else { false }
    parts.append(rb_fit_part(name: rb_slice(), type: fitType, optional: isOptional, parts: isOfElements ? 1 : 0))
    if case .array(let element?) = self {
      element.appendFit(to: &parts, &names, text, named: "", isOptional: false)
    }
  }

  private var fitType: rb_fit_type {
    switch self {
    case .any: RB_FIT_ANY
    case .string: RB_FIT_STRING
    case .boolean: RB_FIT_BOOLEAN
    case .integer: RB_FIT_INTEGER
    case .number: RB_FIT_NUMBER
    case .object: RB_FIT_OBJECT
    case .array(nil): RB_FIT_ARRAY
    case .array: RB_FIT_ELEMENTS
    case .members: RB_FIT_MEMBERS
    }
  }
}

extension ByteBuffer {
  /// Appends a name, and its range to `names`.
  fileprivate func appendName(_ name: String, to names: inout [Range<Int>]) {
    let start = count
    append(contentsOf: name)
    names.append(start..<count)
  }
}
