package import RuledCore
import RuledJSON
package import RuledStore
import Synchronization

/// A plugin's topic as `topics` lists it: while it has members, or a publication is under way to it.
package struct TopicListing {
  /// Plugin and name with a zero byte between, as keys have them.
  private let id: [UInt8]
  private var members = 0
  /// How many publications are under way to the members.
  private var publications = 0

  /// `plugin/name`.
  var name: String { String(decoding: id.map { $0 == 0 ? UInt8(ascii: "/") : $0 }, as: UTF8.self) }

  package var json: JSONValue {
    ["name": .string(name), "members": .integer(Int64(members)), "publications": .integer(Int64(publications))]
  }

  /// The topics whose names begin with `prefix`, in order, after `after`; at most `limit`, and where to continue.
  package static func page(
    _ context: EngineContext, prefix: String, after: String?, limit: Int
  ) throws(RequestError) -> (topics: [TopicListing], next: String?) {
    let (prefix, after) = (id(prefix), after.map(id))
    var found: [TopicListing] = []
    do throws(StoreError) {
      var publications = try publications(context).filter { id, _ in
        id.starts(with: prefix) && after.map { $0.lexicographicallyPrecedes(id) } ?? true
      }
      let first =
        StoreKey.prefix(.memberCount) + (after.map { prefix.lexicographicallyPrecedes($0) ? $0 : prefix } ?? prefix)
      let end = StoreKey.upperBound(StoreKey.prefix(.memberCount) + prefix)
      try context.scan(from: first, to: end, of: .memberCount) { key, value in
        let id = Array(key.extracting(1..<max(1, key.count - 9)))
        guard after.map({ $0.lexicographicallyPrecedes(id) }) ?? true else { return true }
        if found.last?.id != id {
          if found.last?.members == 0, found.last?.publications == 0 { found.removeLast() }
          guard found.count <= limit else { return false }
          found.append(TopicListing(id: id, publications: publications.removeValue(forKey: id) ?? 0))
        }
        found[found.count - 1].members += Int(TopicTable.readNumber(value) ?? 0)
        return true
      }
      if found.last?.members == 0, found.last?.publications == 0 { found.removeLast() }
      let bound = found.count > limit ? found.last?.id : nil
      for (id, count) in publications where bound.map({ id.lexicographicallyPrecedes($0) }) ?? true {
        found.append(TopicListing(id: id, publications: count))
      }
    } catch { throw error.requestError }
    found.sort { $0.id.lexicographicallyPrecedes($1.id) }
    return (Array(found.prefix(limit)), found.count > limit ? found[limit - 1].name : nil)
  }

  /// Notes the publishers of an earlier process's publications in the store, before anything is evaluated; returns whether there are some.
  @discardableResult
  package static func resume(_ context: EngineContext) throws(StoreError) -> Bool {
    let document = TapeDocument()
    var last: UInt64 = 0
    try context.scan(prefix: StoreKey.prefix(.publication), of: .publication) { key, value in
      if case .publication(let number)? = try? ParsedKey(key) { last = max(last, number) }
      if let from = (try? document.parse(copyOf: value))?.member("message")?.member("from")?.string {
        context.publications.count(Array(from), 1)
      }
      return true
    }
    context.advanceSequence(to: last)
    context.publications.lastBefore.store(last, ordering: .relaxed)
    return last > 0
  }

  /// A name, or the beginning of one, as keys have it.
  private static func id(_ name: String) -> [UInt8] {
    var id = Array(name.utf8)
    if let slash = id.firstIndex(of: UInt8(ascii: "/")) { id[slash] = 0 }
    return id
  }

  /// How many publications are under way to each topic.
  private static func publications(_ context: EngineContext) throws(StoreError) -> [[UInt8]: Int] {
    let document = TapeDocument()
    var counts: [[UInt8]: Int] = [:]
    try context.scan(prefix: StoreKey.prefix(.publication), of: .publication) { _, value in
      if let object = try? document.parse(copyOf: value), let topic = object.member("topic")?.string,
        let plugin = object.member("message")?.member("sent_by")?.string
      {
        counts[Array(plugin) + [0] + Array(topic), default: 0] += 1
      }
      return true
    }
    return counts
  }
}
