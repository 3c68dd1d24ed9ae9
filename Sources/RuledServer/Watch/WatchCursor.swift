import RuledCore
import RuledEngine
import RuledWire

/// How far one watcher has been told.
struct WatchCursor: Sendable {
  /// What a watcher is told next.
  enum News {
    /// So many changes are gone before they could be told.
    case lagged(missed: UInt64)
    /// A change, as the JSON members of the notification behind `watch` and `sequence`.
    case changed(sequence: UInt64, members: UnsafeRawBufferPointer)
  }

  /// The watcher's number.
  let number: Int64
  private let filter: WatchFilter
  private(set) var after: UInt64

  /// A watcher that begins where its params say.
  init(_ params: WatchParams, hub: WatchHub) {
    number = hub.nextNumber()
    filter = WatchFilter(params)
    let last = hub.last
    after = params.after.map { min(UInt64($0), last) } ?? last
  }

  /// Tells what the hub holds behind the cursor while `hasRoom`; false when it ended for want of room.
  mutating func read(_ hub: WatchHub, while hasRoom: () -> Bool, _ tell: (News) -> Void) -> Bool {
    while true {
      let page = hub.read(after: after)
      if page.oldest > after + 1 {
        guard hasRoom() else { return false }
        tell(.lagged(missed: page.oldest - after - 1))
        after = page.oldest - 1
      }
      guard !page.chunks.isEmpty else { return true }
      for chunk in page.chunks {
        for place in chunk.log.places(from: Int(after + 1 - chunk.first)) {
          let change = chunk.log[place]
          if filter.wants(change) {
            guard hasRoom() else { return false }
            tell(.changed(sequence: after + 1, members: change.members))
          }
          after += 1
        }
      }
    }
  }

  /// Appends the params of a notification.
  func write(_ news: News, to buffer: ByteBuffer) {
    buffer.append("{\"watch\":" as StaticString)
    buffer.append(decimal: number)
    switch news {
    case .lagged(let missed):
      buffer.append(",\"missed\":" as StaticString)
      buffer.append(decimal: Int64(truncatingIfNeeded: missed))
    case .changed(let sequence, let members):
      buffer.append(",\"sequence\":" as StaticString)
      buffer.append(decimal: Int64(truncatingIfNeeded: sequence))
      buffer.append(UInt8(ascii: ","))
      buffer.append(members)
    }
    buffer.append(UInt8(ascii: "}"))
  }
}

extension ChangeLog {
  fileprivate func places(from first: Int) -> Range<Int> { min(max(first, 0), count)..<count }
}
