import RuledCore
import RuledJSON
import RuledLua

/// The parts of an event's outcome while they are collected from the plugins, as JSON.
final class OutcomeParts {
  /// The members of the object of decisions.
  let decisions = ByteBuffer(capacity: 512)
  /// The elements of the array of effects.
  let effects = ByteBuffer(capacity: 512)
  /// The elements of the array of failures.
  let failures = ByteBuffer(capacity: 256)

  func removeAll() {
    decisions.removeAll()
    effects.removeAll()
    failures.removeAll()
  }

  func add(_ failure: Failure) {
    if failures.count > 0 { failures.append(UInt8(ascii: ",")) }
    failure.json.write(to: failures)
  }

  @_effects(releasenone)
  func addDecisions(in operations: Operations, of plugin: Catalog.Plugin) {
    var isFirst = true
    for index in operations.indices {
      guard case .decide(let name, let value) = operations[index] else { continue }
      if isFirst {
        if decisions.count > 0 { decisions.append(UInt8(ascii: ",")) }
        decisions.append(plugin.quotedName)
        decisions.append(":{" as StaticString)
      } else {
        decisions.append(UInt8(ascii: ","))
      }
      isFirst = false
      decisions.append(jsonString: name)
      decisions.append(UInt8(ascii: ":"))
      decisions.append(value)
    }
    if !isFirst { decisions.append(UInt8(ascii: "}")) }
  }

  @_effects(releasenone)
  func add(_ effect: Operation.Effect, of plugin: Catalog.Plugin) {
    var json = JSONWriter(continuing: effects)
    json.beginObject()
    Self.writeMembers(of: effect, plugin, to: &json)
    json.endObject()
  }

  static func writeMembers(of effect: Operation.Effect, _ plugin: Catalog.Plugin, to json: inout JSONWriter) {
    json.member("id", string: effect.id)
    json.member("plugin", raw: plugin.quotedName)
    json.member("sink", string: effect.sink)
    json.member("type", string: effect.type)
    json.member("data", raw: effect.data)
  }
}
