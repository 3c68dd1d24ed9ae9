package import RuledCore
import RuledJSON
import RuledStore
import Synchronization

/// The publications under way, in the order of their commits, and the messages that their publishers sent behind them.
///
/// In steps it makes a message of a publication for each member of its topic, in the order of the members' names. The progress is written with these
/// messages, so that each member gets one, even if the process ends at any moment. Publications advance side by side, but each member gets them in
/// their order. Only the first publications under way are in memory.
///
/// One thread of a daemon uses it; its owner commits what it adds to the batch.
package final class PublicationQueue {
  /// The work that a step leaves.
  package enum Remaining {
    case nothing
    /// The next step once the batch is durable.
    case more
    /// Nothing for so many milliseconds, as messages wait to be applied, or the plugins are away.
    case later(UInt64)
  }

  /// How many publications are in memory.
  private static let most = 32
  /// How many members a publication reaches before the next one has its turn.
  private static let page = 256
  /// How many members a step reaches at most, and how many bytes their messages have.
  ///
  /// With `crowd` it is the size of an inbox's window: reading further messages from the store is slow after many deletions.
  private static let stepMembers = 2_048
  private static let stepBytes = 1 << 20
  /// With so many waiting messages, one publication of a plugin reaches few members in a step.
  private static let crowd = 2_048
  private static let few = 8

  private struct Entry {
    let number: UInt64
    let publisher: [UInt8]
    let plugin: [UInt8]
    /// The topic's name; nil for a message.
    let topic: [UInt8]?
    /// The receiver of a message, or the subject that a publication leaves out.
    let subject: [UInt8]
    /// How many publications may follow from it.
    let mayPublish: Int
    /// The last subject that it has reached.
    var cursor: [UInt8] = []
    /// How many publications may follow from each of its messages.
    var share: Int?

    func hasReached(_ subject: [UInt8]) -> Bool { !cursor.lexicographicallyPrecedes(subject) }
  }

  /// The common part of a publication's messages.
  private struct Delivery {
    let cascade: Cascade?
    let sender: MessageSender
  }

  private let context: EngineContext
  private let batches: BatchQueue
  private let plugins: WorkerPlugins
  private let topics: TopicTable
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 1024)
  private let stored = ByteBuffer(capacity: 1024)
  private let document = TapeDocument()

  /// The first publications, in memory.
  private var entries: [Entry] = []
  /// The numbers of its publications: for a daemon's worker all.
  private let numbers: ClosedRange<UInt64>
  /// The number of the last publication read from the store.
  private var lastRead: UInt64
  /// The number up to which all are announced, and the later announced ones: a publication is read only once it and all before it are.
  private var lastAnnounced: UInt64 = 0
  private var announced: Set<UInt64> = []
  /// The plugins that are not in force, or suspended, and whose publications wait in the store.
  private var away: Set<[UInt8]> = []
  /// Whether some publications could not be read, so that all are read again.
  private var isIncomplete = false
  private var mayHaveMore = true
  /// The entry whose turn it is.
  private var turn = 0
  /// The publications that reached their last members with the last step.
  private var done: [Entry] = []
  /// The number of the batch that has the last step.
  private var lastBatch: UInt64 = 0

  init(_ context: EngineContext, batches: BatchQueue, plugins: WorkerPlugins, topics: TopicTable) {
    self.context = context
    self.batches = batches
    self.plugins = plugins
    self.topics = topics
    let isOwn = batches.worker >= TopicTable.firstOwnWorker
    numbers = isOwn ? batches.worker...batches.worker + StoredTime.reserved : 0...(.max)
    lastRead = numbers.lowerBound
  }

  /// Notes that a commit has brought publications, and that their publishers' earlier messages are with the workers.
  ///
  /// Numbers that the store does not have do no harm.
  package func noteMore(_ numbers: [UInt64]) {
    announced.formUnion(numbers)
    mayHaveMore = true
  }

  package var hasWork: Bool { mayHaveMore || !entries.isEmpty || !done.isEmpty || !away.isEmpty || isIncomplete }

  /// Begins anew from the store.
  ///
  /// Call it before a batch is discarded, which may be that of the last step.
  func reload() {
    if lastBatch <= batches.durable { endDone() }
    entries.removeAll()
    done.removeAll()
    away.removeAll()
    isIncomplete = false
    lastAnnounced = max(lastAnnounced, lastRead)
    (lastRead, lastBatch, turn) = (numbers.lowerBound, 0, 0)
    mayHaveMore = true
  }

  // MARK: Steps

  /// Brings publications to some members, until `isOver`, if the step before is durable.
  ///
  /// `onlyAwaited`: only publications with a waiting cascade.
  package func step(onlyAwaited: Bool = false, until isOver: () -> Bool = { false }) throws(RequestError) -> Remaining {
    guard hasWork else { return .nothing }
    guard lastBatch <= batches.durable else { return .more }
    endDone()
    if isIncomplete || away.contains(where: isInForce) { reload() }
    entries.removeAll { !stays($0) }
    let writes = batches.current.writes.count
    do throws(RequestError) {
      try read()
      try advance(onlyAwaited: onlyAwaited, until: isOver)
    } catch {
      isIncomplete = true
      if batches.current.writes.count > writes { lastBatch = batches.current.number }
      throw error
    }
    if batches.current.writes.count > writes {
      lastBatch = batches.current.number
      return .more
    }
    return !entries.isEmpty || mayHaveMore ? .later(2) : away.isEmpty ? .nothing : .later(200)
  }

  private func endDone() {
    for entry in done {
      context.publications.count(entry.publisher, -1)
      context.publications.takeCascade(of: entry.number)?.leave()
    }
    done.removeAll()
  }

  private func advance(onlyAwaited: Bool, until isOver: () -> Bool) throws(RequestError) {
    var left = Self.stepMembers
    let end = batches.current.writes.byteCount + Self.stepBytes
    var idle = 0
    var crowded: Set<[UInt8]> = []
    var failure: RequestError?
    while idle < entries.count, left > 0, batches.current.writes.byteCount < end {
      turn = turn < entries.count ? turn : 0
      let entry = entries[turn]
      var room = min(Self.page, left)
      if sender(of: entry).waiting > Self.crowd { room = crowded.insert(entry.plugin).inserted ? Self.few : 0 }
      if onlyAwaited, context.publications.cascade(of: entry.number) == nil { room = 0 }
      let mark = batches.current.mark
      do throws(RequestError) {
        let reached = try room > 0 ? advance(turn, room, until: isOver) : (count: 0, isWhole: false)
        left -= reached.count
        idle = reached.count > 0 || reached.isWhole ? 0 : idle + 1
        if reached.isWhole { finish(turn) } else { turn += 1 }
      } catch {
        // It can't be read: the others go on.
        batches.rollBack(to: mark)
        entries.remove(at: turn)
        failure = error
      }
      if isOver() { break }
    }
    if let failure { throw failure }
  }

  private func finish(_ index: Int) {
    let entry = entries.remove(at: index)
    StoreKey.numbered(.publication, entry.number, into: key)
    batches.current.writes.delete(key.bytes)
    if entry.topic != nil, !entry.cursor.isEmpty {
      StoreKey.numbered(.publicationCursor, entry.number, into: key)
      batches.current.writes.delete(key.bytes)
    }
    done.append(entry)
    mayHaveMore = true
  }

  private func sender(of entry: Entry) -> MessageSender {
    context.senders[entry.plugin.text]
  }

  private func isInForce(_ name: [UInt8]) -> Bool {
    name.withView { plugins.plugin(named: $0) }.map { !$0.loaded.runtime.isSuspended } ?? false
  }

  /// Whether a publication stays in memory; otherwise it waits in the store until its plugin is back, and nobody waits for it.
  private func stays(_ entry: Entry) -> Bool {
    guard !isInForce(entry.plugin) else { return true }
    away.insert(entry.plugin)
    context.publications.takeCascade(of: entry.number)?.leave(isCommitted: false)
    return false
  }

  // MARK: Reading

  /// Reads publications from the store while there is room for them.
  private func read() throws(RequestError) {
    guard mayHaveMore, entries.count < Self.most else { return }
    let before = max(lastAnnounced, context.publications.lastBefore.load(ordering: .relaxed))
    var isFull = false
    var found: [Entry] = []
    let first = StoreKey.bytes { StoreKey.numbered(.publication, lastRead + 1, into: $0) }
    do throws(StoreError) {
      try context.scan(from: first, to: StoreKey.upperBound(StoreKey.prefix(.publication)), of: .publication) {
        key, value in
        guard case .publication(let number)? = try? ParsedKey(key), numbers.contains(number) else { return true }
        guard entries.count + found.count < Self.most else {
          isFull = true
          return false
        }
        guard number <= before || announced.remove(number) != nil else { return false }
        lastRead = number
        guard let entry = entry(number, value) else {
          context.noteDamage(key, StoreError(.corrupt, "a publication has another form"), malformed: true)
          return true
        }
        if stays(entry) { found.append(entry) }
        return true
      }
    } catch { throw error.requestError }
    for entry in found {
      var entry = entry
      StoreKey.numbered(.publicationCursor, entry.number, into: key)
      if try batches.readCommitted(key.bytes, of: ByteView.empty, into: value) { entry.cursor = Array(value.bytes) }
      entries.append(entry)
    }
    mayHaveMore = isFull
  }

  private func entry(_ number: UInt64, _ value: ByteView) -> Entry? {
    guard let object = try? document.parse(copyOf: value), let message = object.member("message"),
      let from = message.member("from")?.string, let plugin = message.member("sent_by")?.string
    else { return nil }
    let topic = object.member("topic")?.string
    let subject = topic == nil ? message.member("subject")?.string : object.member("except")?.string
    return Entry(
      number: number, publisher: Array(from), plugin: Array(plugin), topic: topic.map { Array($0) },
      subject: subject.map { Array($0) } ?? [], mayPublish: Int(object.member("may_publish")?.integer ?? 0))
  }

  // MARK: Reaching members

  /// Brings a publication to so many further members; returns how many it was, and whether these were the last.
  private func advance(
    _ index: Int, _ most: Int, until isOver: () -> Bool
  ) throws(RequestError) -> (count: Int, isWhole: Bool) {
    let entry = entries[index]
    StoreKey.numbered(.publication, entry.number, into: key)
    guard try batches.readCommitted(key.bytes, of: ByteView.empty, into: stored) else { return (0, true) }
    let message = stored.bytes.rawMember("message")
    let delivery = Delivery(cascade: context.publications.cascade(of: entry.number), sender: sender(of: entry))
    guard let topic = entry.topic else {
      guard try !isBlocked(entry.subject, at: index) else { return (0, false) }
      send(to: entry.subject, delivery) { $0.append(message) }
      return (1, true)
    }
    if entry.share == nil {
      entries[index].share = try entry.mayPublish / max(1, topics.count(topic, of: entry.plugin))
    }
    let share = entries[index].share ?? 0
    let page = try page(of: entry, topic, most)
    let path = entry.plugin + [UInt8(ascii: "/")] + topic
    var (reached, last) = (0, entry.cursor)
    for (place, subject) in page.members.enumerated() {
      guard try !isBlocked(subject, at: index), place & 31 != 31 || !isOver() else {
        note(last, index)
        return (reached, false)
      }
      send(to: subject, delivery) { buffer in
        var json = JSONWriter(buffer)
        json.beginObject()
        path.withView { json.member("topic", string: $0) }
        json.member("published", entry.number)
        json.member("message")
        json.beginObject()
        subject.withView { json.member("subject", string: $0) }
        json.member("may_publish", share)
        buffer.append(UInt8(ascii: ","))
        buffer.append(message.extracting(1...))
        buffer.append(UInt8(ascii: "}"))
      }
      (reached, last) = (reached + 1, subject)
    }
    if !page.isLast { note(page.last, index) }
    return (max(reached, page.isLast ? 0 : 1), page.isLast)
  }

  /// Writes how far a publication has come.
  private func note(_ subject: [UInt8], _ index: Int) {
    guard subject != entries[index].cursor else { return }
    entries[index].cursor = subject
    StoreKey.numbered(.publicationCursor, entries[index].number, into: key)
    subject.withView { batches.current.writes.put(key.bytes, $0) }
  }

  /// The next members to reach, the last subject that was looked at, and whether it is the last member.
  private func page(
    of entry: Entry, _ topic: [UInt8], _ most: Int
  ) throws(RequestError) -> (members: [[UInt8]], last: [UInt8], isLast: Bool) {
    let prefix = StoreKey.bytes { StoreKey.member(plugin: entry.plugin, name: topic, ByteView.empty, into: $0) }
    var members: [[UInt8]] = []
    var (last, isLast, seen) = (entry.cursor, true, 0)
    let first = entry.cursor.isEmpty ? prefix : prefix + entry.cursor + [0]
    do throws(StoreError) {
      try context.scan(from: first, to: StoreKey.upperBound(prefix), of: .member) { key, value in
        guard members.count < most, seen < 4 * most else {
          isLast = false
          return false
        }
        seen += 1
        last = Array(key.extracting(prefix.count...))
        if let joined = TopicTable.readNumber(value), UInt64(bitPattern: joined) < entry.number, last != entry.subject {
          members.append(last)
        }
        return true
      }
    } catch { throw error.requestError }
    return (members, last, isLast)
  }

  /// Whether an earlier publication has to reach the subject first.
  private func isBlocked(_ subject: [UInt8], at index: Int) throws(RequestError) -> Bool {
    let entry = entries[index]
    for earlier in entries[..<index] {
      let isOfSame = earlier.publisher == entry.publisher
      guard let topic = earlier.topic else {
        if isOfSame, earlier.subject == subject { return true }
        continue
      }
      guard entry.topic != nil || isOfSame, !earlier.hasReached(subject), earlier.subject != subject else { continue }
      if entry.topic == topic, entry.plugin == earlier.plugin { return true }
      let isReached = try subject.withView { (subject: ByteView) throws(RequestError) in
        try topics.isReached(subject, by: earlier.number, of: topic, of: earlier.plugin)
      }
      if isReached { return true }
    }
    return false
  }

  /// Adds a message, whose text `write` appends, to the batch.
  private func send(to subject: [UInt8], _ delivery: Delivery, _ write: (ByteBuffer) -> Void) {
    let sequence = context.nextSequence()
    StoreKey.numbered(.message, subject, sequence, into: key)
    value.removeAll()
    write(value)
    batches.current.writes.put(key.bytes, value.bytes)
    delivery.cascade?.enter()
    batches.current.messages.append(
      .init(subject: subject, sequence: sequence, cascade: delivery.cascade, sender: delivery.sender))
  }
}
