import RuledCore
import RuledJSON
import RuledLua

/// Checks data of events against what plugins declare about their types.
///
/// Each event is checked once, when somebody says it: one of a client when it arrives, one of a rule when it is raised, sent or put into a
/// timer. What waits in the store is not judged again by rules that came later.
extension EventTransaction {
  /// Checks the data of the event if a client sent it.
  ///
  /// - Throws: `invalid_params`, which names the member.
  func checkArrived(_ schemas: EventSchemas) throws(RequestError) {
    guard event.origin == .client else { return }
    do throws(SchemaMismatch) { try schemas.check(event.data, source: event.source) } catch {
      throw error.requestError
    }
  }

  /// Checks the data of events that rules raise, send or set timers for.
  ///
  /// - Throws: a failure of kind `value` of the rule.
  func checkData(_ operations: Slice<Operations>, of plugin: Catalog.Plugin) throws(Failure) {
    for index in operations.indices {
      let (what, type, data): (String, Operation.Bytes, Operation.Bytes)
      switch operations[index] {
      case .raise(let raised, let its, _, _): (what, type, data) = ("raise", raised, its)
      case .send(_, let sent, let its): (what, type, data) = ("send", sent, its)
      case .setTimer(_, let due, let its, _): (what, type, data) = ("timer.set", due, its)
      default: continue
      }
      guard let schemas = plugins.listeners(to: type).schemas, let value = try? raisedData.parse(copyOf: data) else {
        continue
      }
      do throws(SchemaMismatch) { try schemas.check(value, source: event.source) } catch {
        throw Failure(
          plugin: plugin.name, rule: plugin.manifest.rules[operations.base.rule(at: index)].name, kind: .value,
          message: "\(what) of '\(String(decoding: type, as: UTF8.self))': \(error.path) \(error.detail)")
      }
    }
  }
}
