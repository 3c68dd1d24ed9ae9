internal import RuledCore
internal import RuledLua

extension TestDriver {
  /// Lets a plugin fail on the next event of a subject.
  func letFail(_ arguments: TestArguments) throws -> [JSONValue] {
    engine.fail(try plugin(of: arguments), onNextEventOf: try arguments.text(0, "a subject"))
    return []
  }

  func retry(_ arguments: TestArguments) throws -> [JSONValue] {
    let (subject, plugin) = (try arguments.text(0, "a subject"), try plugin(of: arguments))
    let id = arguments.value(2) == nil ? nil : try arguments.text(2, "the id of an event")
    guard try engine.retry(plugin, of: subject, event: id) > 0 else {
      let what = id.map { "the event '\($0)'" } ?? "nothing"
      throw TestFailure("\(what) is \(id == nil ? "" : "not ")parked of \(subject) for the plugin '\(plugin)'")
    }
    return []
  }

  private func plugin(of arguments: TestArguments) throws -> String {
    let name = arguments.value(1) == nil ? plugin : try arguments.text(1, "the name of a plugin")
    try requirePlugin(name)
    return name
  }
}
