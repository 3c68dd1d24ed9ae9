import RuledCore
import RuledEngine
import RuledIO
import RuledJSON
import RuledWire

enum WatchNews {
  /// That many changes were evicted before they could be read.
  case lagged(missed: UInt64)
  /// A change, as the JSON members of its notification after `watch` and `sequence`.
  case changed(sequence: UInt64, members: ByteView)

  /// Appends the params of a notification to a watch, as a JSON object.
  func write(to buffer: ByteBuffer, of watch: Int64) {
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("watch", watch)
    switch self {
    case .lagged(let missed): writer.member("missed", missed)
    case .changed(let sequence, let members):
      writer.member("sequence", sequence)
      writer.raw(members)
    }
    writer.endObject()
  }
}

protocol WatchReceiver: AnyObject {
  var hasRoom: Bool { get }
  /// Whether its socket takes bytes, so that there is room soon.
  var isTaking: Bool { get }
  func addNews(_ news: WatchNews, of watch: Int64)
  /// Follows the last news of a round.
  func endNews()
}

/// One watch of a connection; confined to the thread of its table.
final class Watch {
  /// Its number in the daemon.
  let number: Int64
  let filter: WatchFilter
  fileprivate let client: WatchTable.Client
  /// The sequence of the last change that it got, or had no use for.
  fileprivate var after: UInt64
  /// Whether it reads by itself until it has caught up with its table.
  fileprivate var isBehind = false

  fileprivate init(_ number: Int64, _ filter: WatchFilter, of client: WatchTable.Client, after: UInt64) {
    self.number = number
    self.filter = filter
    self.client = client
    self.after = after
  }
}

/// The watches of one thread's connections.
///
/// The table reads each change once and finds the watches that want it in an index. A watch whose connection has no room, and one that begins in
/// the past, reads by itself until it has caught up.
final class WatchTable {
  fileprivate final class Client {
    let receiver: any WatchReceiver
    var watches: [Int64: Watch] = [:]
    var filterBytes = 0
    /// The watches that read by themselves.
    var behind: [Watch] = []
    /// Whether the client is in `catchingUp`.
    var isCatchingUp = false
    /// Whether it got news in this round.
    var isTouched = false

    init(_ receiver: any WatchReceiver) { self.receiver = receiver }
  }

  /// How long a round may take before others have their turn, in nanoseconds.
  private static let roundTime: UInt64 = 2_000_000
  /// The time until the next try of connections whose sockets are full, in milliseconds.
  private static let retryDelay: UInt64 = 5

  private let loop: EventLoop
  private let hub: WatchHub
  /// The thread's name at the hub.
  private let key: UInt64
  /// Has the thread call `read`; called on any thread.
  private let wake: @Sendable () -> Void
  private let refusals: Refusals
  private var clients: [UInt64: Client] = [:]
  private var watches: [Int64: Watch] = [:]
  private var index = WatchIndex()
  /// The watches whose numbers are in a reply that has yet to be sent, by the name of the reply.
  private var pending: [UInt64: [Watch]] = [:]
  /// The sequence of the last change read.
  private var after: UInt64 = 0
  private var catchingUp: [Client] = []
  private var touched: [Client] = []
  /// Whether the hub calls `wake` at the next change.
  private var isWaiting = false
  private var isScheduled = false

  /// No watches; the hub knows the thread by `key`, and calls `wake` on any thread to have this one call `read`.
  init(on loop: EventLoop, _ hub: WatchHub, key: UInt64, _ refusals: Refusals, wake: @escaping @Sendable () -> Void) {
    self.loop = loop
    self.hub = hub
    self.key = key
    self.refusals = refusals
    self.wake = wake
  }

  // MARK: Watches

  /// Adds a watch of a connection; returns its number.
  ///
  /// With `reply`, it gets nothing until `release` of that reply.
  func begin(
    _ params: WatchParams, connection: UInt64, _ receiver: any WatchReceiver, pendingFor reply: UInt64 = 0
  ) throws(RequestError) -> Int64 {
    let client = clients[connection] ?? Client(receiver)
    let filter = WatchFilter(params)
    try checkLimits(client, filter)
    if watches.isEmpty { after = hub.last }
    let start = params.after.map { min(UInt64($0), hub.last) } ?? hub.last
    let watch = Watch(hub.nextNumber(), filter, of: client, after: start)
    clients[connection] = client
    client.watches[watch.number] = watch
    client.filterBytes += filter.bytes
    watches[watch.number] = watch
    index.insert(watch)
    if reply != 0 {
      watch.isBehind = true
      pending[reply, default: []].append(watch)
    } else if start < after {
      readAlone(watch)
    }
    if !isWaiting || watch.isBehind { schedule() }
    return watch.number
  }

  private func checkLimits(_ client: Client, _ filter: WatchFilter) throws(RequestError) {
    func refuse(_ limit: String) throws(RequestError) {
      refusals.note(.watches) { "watches are refused: \(limit)" }
      throw RequestError(.overloaded, "\(limit); end others with unwatch", retryAfter: 1000)
    }
    if client.watches.count >= Limits.connectionWatches {
      try refuse("a connection may have \(Limits.connectionWatches) watches at most")
    }
    if client.filterBytes + filter.bytes > Limits.connectionFilterBytes {
      try refuse("the names in the watches of a connection may take \(Limits.connectionFilterBytes) bytes at most")
    }
    if !hub.addWatch(bytes: filter.bytes) {
      try refuse(
        "there may be \(Limits.watches) watches on all connections, and their names may take \(Limits.filterBytes) bytes"
      )
    }
  }

  /// Ends a watch of a connection, which gets the changes of earlier commits first; false if it has none of that number.
  func end(_ number: Int64, connection: UInt64) -> Bool {
    read()
    guard let client = clients[connection], let watch = client.watches.removeValue(forKey: number) else { return false }
    client.filterBytes -= watch.filter.bytes
    if watch.isBehind { client.behind.removeAll { $0 === watch } }
    forget([watch])
    if client.watches.isEmpty { clients[connection] = nil }
    return true
  }

  func endAll(connection: UInt64) {
    guard let client = clients.removeValue(forKey: connection) else { return }
    let ended = Array(client.watches.values)
    // The watches refer to their client.
    client.watches = [:]
    client.behind = []
    forget(ended)
  }

  private func forget(_ ended: [Watch]) {
    for watch in ended {
      watches[watch.number] = nil
      index.remove(watch)
    }
    hub.removeWatches(ended.count, bytes: ended.reduce(0) { $0 + $1.filter.bytes })
    guard watches.isEmpty else { return }
    pending = [:]
    hub.cancel(key)
    isWaiting = false
  }

  func count(connection: UInt64) -> Int { clients[connection]?.watches.count ?? 0 }

  /// Gives news to the watches that waited for a reply, as it was sent.
  func release(pendingFor reply: UInt64) {
    guard let released = pending.removeValue(forKey: reply) else { return }
    for watch in released where watches[watch.number] != nil { readAlone(watch) }
    schedule()
  }

  // MARK: News

  /// Has `read` called in the next tick, or after that many milliseconds.
  private func schedule(after delay: UInt64 = 0) {
    guard !isScheduled else { return }
    isScheduled = true
    let body = { [weak self] in
      self?.isScheduled = false
      self?.read()
    }
    if delay == 0 { return loop.onNextTick(body) }
    do throws(SystemError) { try loop.timer(after: delay, body) } catch { isScheduled = false }
  }

  /// Sends changes to the watches, for a while.
  func read() {
    isWaiting = false
    guard !watches.isEmpty else { return }
    let end = MonotonicClock.nanoseconds + Self.roundTime
    let isCurrent = readChanges(until: end)
    catchUp(until: end)
    for client in touched {
      client.isTouched = false
      client.receiver.endNews()
    }
    touched.removeAll()
    let mayGoOn = !isCurrent || catchingUp.contains { $0.receiver.isTaking }
    if mayGoOn { return schedule() }
    if !catchingUp.isEmpty { schedule(after: Self.retryDelay) }
    isWaiting = hub.wake(key, after: after, wake)
    if !isWaiting { schedule() }
  }

  /// Passes the next changes to the watches that want them; false if there are more than the time allows.
  private func readChanges(until end: UInt64) -> Bool {
    while true {
      let page = hub.page(after: after)
      if page.oldest > after + 1 {
        for watch in watches.values where !watch.isBehind { fallBehind(watch, after: after) }
        after = page.oldest - 1
      }
      guard !page.chunks.isEmpty else { return true }
      for chunk in page.chunks {
        for position in chunk.log.indices(from: Int(after + 1 - chunk.first)) {
          pass(chunk.log[position], sequence: after + 1)
          after += 1
          guard MonotonicClock.nanoseconds < end else { return false }
        }
      }
    }
  }

  private func pass(_ change: ChangeLog.View, sequence: UInt64) {
    index.forEach(wanting: change) { watch in
      guard !watch.isBehind, watch.after < sequence else { return }
      guard watch.client.receiver.hasRoom else { return fallBehind(watch, after: sequence - 1) }
      send(.changed(sequence: sequence, members: change.members), to: watch)
      watch.after = sequence
    }
  }

  private func send(_ news: WatchNews, to watch: Watch) {
    let client = watch.client
    client.receiver.addNews(news, of: watch.number)
    guard !client.isTouched else { return }
    client.isTouched = true
    touched.append(client)
  }

  // MARK: Watches that read by themselves

  /// Lets a watch that has got everything up to `sequence` read by itself.
  private func fallBehind(_ watch: Watch, after sequence: UInt64) {
    watch.after = max(watch.after, sequence)
    readAlone(watch)
  }

  private func readAlone(_ watch: Watch) {
    let client = watch.client
    watch.isBehind = true
    client.behind.append(watch)
    guard !client.isCatchingUp else { return }
    client.isCatchingUp = true
    catchingUp.append(client)
  }

  /// Brings the watches that read by themselves as much news as their connections take; those without a turn come first the next time.
  private func catchUp(until end: UInt64) {
    guard !catchingUp.isEmpty else { return }
    let waiting = catchingUp
    catchingUp = []
    var served: [Client] = []
    for (position, client) in waiting.enumerated() {
      guard MonotonicClock.nanoseconds < end else {
        catchingUp = Array(waiting[position...])
        break
      }
      while let watch = client.behind.last, read(watch, until: end) {
        client.behind.removeLast()
        watch.isBehind = false
      }
      client.isCatchingUp = !client.behind.isEmpty
      if client.isCatchingUp { served.append(client) }
    }
    catchingUp += served
  }

  /// Brings a watch the news that it lacks; false if its connection has no room, or the time is over.
  private func read(_ watch: Watch, until end: UInt64) -> Bool {
    let receiver = watch.client.receiver
    while watch.after < after {
      let page = hub.page(after: watch.after)
      if page.oldest > watch.after + 1 {
        guard receiver.hasRoom else { return false }
        send(.lagged(missed: page.oldest - watch.after - 1), to: watch)
        watch.after = page.oldest - 1
      }
      guard !page.chunks.isEmpty else { return true }
      for chunk in page.chunks {
        for position in chunk.log.indices(from: Int(watch.after + 1 - chunk.first)) {
          guard watch.after < after else { return true }
          let change = chunk.log[position]
          if watch.filter.wants(change), !page.isForgotten(change, watch.after + 1) {
            guard receiver.hasRoom, MonotonicClock.nanoseconds < end else { return false }
            send(.changed(sequence: watch.after + 1, members: change.members), to: watch)
          }
          watch.after += 1
        }
        guard MonotonicClock.nanoseconds < end else { return false }
      }
    }
    return true
  }
}

extension ChangeLog {
  fileprivate func indices(from first: Int) -> Range<Int> { min(max(first, 0), count)..<count }
}
