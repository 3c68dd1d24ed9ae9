import CLuaBridge
package import RuledCore

/// The part of a rule's `when` that was false.
package struct FalseCondition: Sendable {
  /// The operand that was false, as it is written; `return false` if the function returns that.
  package let text: String
  /// The file, relative to the rules folder.
  package let file: String
  package let line: Int
  /// The values in it that are no tables, in order.
  package let values: [(text: String, value: JSONValue)]
}

extension PluginVM {
  /// The most bytes read to explain an event, states and texts to compile: some tens of milliseconds.
  private static let mostExplainedBytes = 32 << 20

  /// Begins to explain a rule, and stops the clock of the event's budget until `endExplanation`.
  ///
  /// The state that is read for it has `stateBytes`.
  ///
  /// - Returns: false, and nothing has begun, if the explanation of the event is too long already.
  package func beginExplanation(of rule: Int, stateBytes: Int) -> Bool {
    explainedBytes += stateBytes + (when(of: rule)?.text.bytesToCompile ?? 0)
    guard explainedBytes <= Self.mostExplainedBytes else { return false }
    rb_pause_time(handle)
    return true
  }

  /// Lets the clock run again.
  package func endExplanation() { rb_resume_time(handle) }

  /// As `runRule`, and records the values that the rule's `when` reads; between `beginExplanation` and `endExplanation`.
  package func explain(rule: Int) -> CallResult {
    func runOnTime() -> CallResult {
      rb_resume_time(handle)
      defer { rb_pause_time(handle) }
      return runRule(rule)
    }
    guard let (when, file) = when(of: rule) else { return runOnTime() }
    let isReplaced = when.rewritten.withView { text in
      file.withSlice { path in
        when.recorder.withSlice {
          rb_replace_when(handle, Int32(rule), Int32(when.linesBefore), rb_slice(text), path, $0)
        }
      }
    }
    guard isReplaced else { return runOnTime() }
    defer { rb_restore_when(handle, Int32(rule)) }
    return runOnTime()
  }

  /// The number of the event's operations that are for explanations alone.
  package var recordedCount: Int { rb_recorded(handle) }

  /// The false part of the `when` of a rule that `explain` has run after the first `first` operations; nil if it is not known.
  package func falseCondition(of rule: Int, from first: Int) -> FalseCondition? {
    guard let (when, file) = when(of: rule) else { return nil }
    var result: WhenText.Part?
    var recorded: [(part: WhenText.Part, value: Operation.Bytes, isString: Bool)] = []
    for operation in operations[first...] {
      guard case .part(let number, let value, let isString) = operation, when.parts.indices.contains(number) else {
        continue
      }
      let part = when.parts[number]
      if part.isResult { result = part }
      recorded.append((part, value, isString))
    }
    guard let result else { return nil }
    let condition = result.isConstant ? recorded.last { !$0.part.isResult }?.part.condition : result.condition
    var values: [(text: String, value: JSONValue)] = []
    var known: Set<String> = []
    for (part, value, isString) in recorded.reversed() where part.condition == condition && !part.isResult {
      guard let value = Self.value(value, isString: isString) else { continue }
      let text = when.text(of: part)
      if known.insert(text).inserted { values.append((text, value)) }
    }
    let text = when.text(of: result)
    return FalseCondition(
      text: result.isConstant ? "return \(text)" : text, file: file, line: result.line, values: values.reversed())
  }

  private func when(of rule: Int) -> (text: WhenText, file: String)? {
    var path = rb_slice()
    var first: Int32 = 0
    var last: Int32 = 0
    guard rb_find_when(handle, Int32(rule), &path, &first, &last) else { return nil }
    let name = path.text
    let isMeant = { (file: SourceFile) in file.path == name }
    guard let file = source.modules.first(where: isMeant) ?? source.library.first(where: isMeant),
      let text = file.when(from: Int(first), to: Int(last))
    else { return nil }
    return (text, name)
  }

  /// The value that the VM shows as `text`; nil for a table or a function.
  private static func value(_ text: Operation.Bytes, isString: Bool) -> JSONValue? {
    let text = text.text
    if isString { return .string(text) }
    if text == "nil" { return .null }
    if let number = Double(text), !number.isFinite { return .string(text) }
    return (try? JSONValue(parsing: text)) ?? (Double(text) == nil ? nil : .string(text))
  }
}
