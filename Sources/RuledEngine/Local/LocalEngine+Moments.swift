package import RuledCore
import RuledJSON
import RuledStore

/// Returning to an earlier moment, for tests that try several cases.
extension LocalEngine {
  /// The content of the engine at a moment.
  package struct Moment {
    fileprivate let contents: [(key: [UInt8], value: [UInt8])]
    fileprivate let time: Timestamp
    fileprivate let changes: [Change]
    fileprivate let times: [Timestamp]
    fileprivate let sent: [[UInt8]]
    fileprivate let eventsMade: Int
  }

  package func moment() throws(RequestError) -> Moment {
    Moment(contents: try contents(), time: now, changes: changes, times: times, sent: sent, eventsMade: eventsMade)
  }

  package func restore(_ moment: Moment, catalog: Catalog) throws(RequestError) {
    let store = MemoryStore()
    let writes = WriteSet()
    for entry in moment.contents {
      entry.key.withView { key in entry.value.withView { writes.put(key, $0) } }
    }
    do throws(StoreError) { try store.commit(writes, durable: true) } catch { throw error.requestError }
    let hasRunRules = hasRunRules
    try renew(catalog: catalog, store: store, start: moment.time)
    self.hasRunRules = hasRunRules
    changes = moment.changes
    times = moment.times
    sent = moment.sent
    eventsMade = moment.eventsMade
  }
}
