import RuledCore
import RuledEngine
import RuledJSON
import RuledWire

/// What one watcher wants, and how far it has read.
struct WatchCursor: Sendable {
  /// What a watcher gets next.
  enum News {
    /// That many changes were evicted before they could be read.
    case lagged(missed: UInt64)
    /// A change, as the JSON members of its notification after `watch` and `sequence`.
    case changed(sequence: UInt64, members: ByteView)
  }

  /// The watcher's number.
  let number: Int64
  private let filter: WatchFilter
  /// The sequence of the last change that was read.
  private(set) var after: UInt64

  /// A watcher that begins where its params say.
  init(_ params: WatchParams, hub: WatchHub) {
    number = hub.nextNumber()
    filter = WatchFilter(params)
    let last = hub.last
    after = params.after.map { min(UInt64($0), last) } ?? last
  }

  /// Passes the changes after the cursor to `body` while `hasRoom` returns true; false if it ended for lack of room.
  mutating func read(_ hub: WatchHub, while hasRoom: () -> Bool, _ body: (News) -> Void) -> Bool {
    while true {
      let page = hub.read(after: after)
      if page.oldest > after + 1 {
        guard hasRoom() else { return false }
        body(.lagged(missed: page.oldest - after - 1))
        after = page.oldest - 1
      }
      guard !page.chunks.isEmpty else { return true }
      for chunk in page.chunks {
        for index in chunk.log.indices(from: Int(after + 1 - chunk.first)) {
          let change = chunk.log[index]
          if filter.wants(change) {
            guard hasRoom() else { return false }
            body(.changed(sequence: after + 1, members: change.members))
          }
          after += 1
        }
      }
    }
  }

  /// Appends the params of a notification as a JSON object.
  func write(_ news: News, to buffer: ByteBuffer) {
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("watch", number)
    switch news {
    case .lagged(let missed): writer.member("missed", missed)
    case .changed(let sequence, let members):
      writer.member("sequence", sequence)
      writer.raw(members)
    }
    writer.endObject()
  }
}

extension ChangeLog {
  fileprivate func indices(from first: Int) -> Range<Int> { min(max(first, 0), count)..<count }
}

/// Which changes a watcher wants.
struct WatchFilter: Sendable {
  private let subject: [UInt8]?
  private let prefix: [UInt8]
  private let plugins: [[UInt8]]?

  /// What the params of `watch` ask for.
  init(_ params: WatchParams) {
    subject = params.subject.map { Array($0.utf8) }
    prefix = Array(params.prefix.utf8)
    plugins = params.plugins.map { names in names.map { Array("\"\($0)\"".utf8) } }
  }

  /// Whether the change is wanted.
  func wants(_ change: ChangeLog.View) -> Bool {
    guard !change.members.isEmpty else { return false }
    if let subject, !change.subject.elementsEqual(subject) { return false }
    guard change.subject.starts(with: prefix) else { return false }
    guard let plugins else { return true }
    return change.plugins.split(separator: UInt8(ascii: ",")).contains { name in
      plugins.contains { $0.elementsEqual(name) }
    }
  }
}
