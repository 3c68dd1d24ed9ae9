import RuledCore
import RuledEngine
import RuledStore

/// The thread that delivers effects: at least once, and in the order of each subject as far as the sink and the plugin go.
///
/// What was recorded stands in the store until something has come of it; the thread has only windows on it before it, one a lane. It
/// hears of new effects from the workers, and goes through the store at the start, after a backlog and every now and then.
final class OutboxService {
  /// How it goes about its work.
  struct Settings: Sendable {
    /// The waits between tries.
    var backoff = Backoff()
    /// How long a request may take, in milliseconds.
    var timeout = 30_000
    /// How often the store is gone through although nothing asks for it, in milliseconds.
    var lookPeriod: UInt64 = 600_000
    /// How long after an effect for a sink without configuration such effects are counted again, at least, in milliseconds.
    var countDelay: UInt64 = 1_000
  }

  /// A delivery that waits for its handler or for its receiver.
  struct Flight {
    let sink: Sink
    let lane: Lane
    let queue: SubjectQueue
    let key: EffectKey
    let effect: StoredEffect
    let text: [UInt8]
  }

  let services: Services
  let settings: Settings
  let loop: EventLoop
  let client: HTTPClient
  private(set) var sinks: [String: Sink] = [:]
  var flights: [UInt64: Flight] = [:]
  /// Where the walk through all effects stands; nil when none is under way.
  var lookPosition: [UInt8]?
  /// When that walk began, and how long the last one took, in milliseconds.
  var lookBegan: UInt64 = 0
  var lookTime: UInt64 = 0
  /// Whether another walk is to follow.
  var looksAgain = false
  /// Effects that were given up before this number was given are tried again.
  var retriesBefore: UInt64
  /// Subjects with an effect of which nobody knows for which sink it is, as it can't be read.
  var heldBack: Set<[UInt8]> = []
  /// Whether the store is to be gone through again for those, and how often running that was so.
  var awaitsLook = false
  var unreadableLooks = 0
  /// Which of the lanes that want it goes on next.
  var loadTurn = 0
  private(set) var isStopping = false

  private var configured: [String: Configuration.Sink]
  private var nextFlight: UInt64 = 1
  private var timer: LoopTimer?
  private var looks: LoopTimer?
  private(set) var later: LoopTimer?
  private var recount: LoopTimer?
  private var recounts = false
  private var deadline: LoopTimer?
  private var onStop: [@Sendable () -> Void] = []
  private var removed: [(key: EffectKey, sink: Sink)] = []
  private var removesAfter: UInt64 = 0
  private var hasLoadTurn = false
  let keyBuffer = ByteBuffer(capacity: 320)
  let value = ByteBuffer(capacity: 4096)
  private let writes = WriteSet(capacity: 4096)

  /// A service on the calling thread.
  init(services: Services, settings: Settings = Settings()) throws(SystemError) {
    self.services = services
    self.settings = settings
    configured = services.context.configuration.sinks
    retriesBefore = services.context.nextSequence()
    loop = try EventLoop()
    guard let client = try HTTPClient(on: loop) else {
      throw SystemError(12, call: "curl_multi_init", context: "delivery of effects")
    }
    self.client = client
  }

  /// Delivers until it is stopped.
  func run() throws(SystemError) {
    for name in configured.keys { sink(name) }
    timer = try LoopTimer(on: loop) {}
    deadline = try LoopTimer(on: loop) { [unowned self] in end() }
    looks = try LoopTimer(on: loop) { [unowned self] in look() }
    later = try LoopTimer(on: loop) { [unowned self] in look() }
    recount = try LoopTimer(on: loop) { [unowned self] in
      recounts = false
      look()
    }
    looks?.start(after: settings.lookPeriod, every: settings.lookPeriod)
    try services.outbox.mailbox.attach(to: loop) { [unowned self] messages in
      for message in messages { take(message) }
    }
    loop.atTickEnd(.work) { [unowned self] in turn() }
    look()
    loop.onNextTick {}
    loop.run()
    client.close()
    services.outbox.mailbox.close()
    timer?.close()
    deadline?.close()
    looks?.close()
    later?.close()
    recount?.close()
    loop.close()
    for done in onStop { done() }
  }

  private func take(_ message: OutboxMessage) {
    switch message {
    case .recorded(let keys):
      services.outbox.took(keys.count)
      if !isStopping { for key in keys { recorded(key) } }
    case .look: look()
    case .reload(let sinks): reload(sinks)
    case .handled(let number, let answer):
      if let flight = flights.removeValue(forKey: number) { handled(flight, answer) }
    case .marked(let key, let name): sinks[name]?.settled.remove(key)
    case .stop(let milliseconds, let done):
      onStop.append(done)
      isStopping = true
      deadline?.start(after: milliseconds)
    }
  }

  /// The sink of that name.
  @discardableResult
  func sink(_ name: String) -> Sink {
    if let sink = sinks[name] { return sink }
    let made = Sink(name: name, configuration: configured[name], figures: services.outbox.figures(of: name))
    if case .url(_, let secret?) = made.target { read(secret, of: made) }
    sinks[name] = made
    return made
  }

  private func reload(_ next: [String: Configuration.Sink]) {
    configured = next
    retriesBefore = services.context.nextSequence()
    for (name, sink) in sinks {
      guard sink.configuration == next[name] else {
        sinks[name] = nil
        sink.figures.wait(0)
        continue
      }
      switch sink.target {
      case .url(_, let secret?): read(secret, of: sink)
      case .file(let file): file.close()
      default: break
      }
      for lane in sink.lanes { lane.resume() }
    }
    for name in next.keys { sink(name) }
    look()
  }

  /// Reads a secret; false when it can't be read, which is logged.
  @discardableResult
  func read(_ secret: SinkSecret, of sink: Sink) -> Bool {
    guard let problem = secret.read() else { return true }
    log(.error, "the secret of the sink '\(sink.name)' can't be read, its effects wait: \(problem)")
    return false
  }

  // MARK: Turns

  private func turn() {
    let now = loop.now
    load()
    for sink in sinks.values where sink.isConfigured { deliver(sink, now) }
    commitRemovals(now)
    for sink in sinks.values { sink.publish() }
    if isStopping, client.count == 0, removed.isEmpty { return end() }
    schedule(now)
  }

  private func end() {
    commitRemovals(.max)
    loop.stop()
  }

  /// Lets the waiting effects be counted a little later, and seldom when that takes long.
  func countSoon() {
    guard !recounts else { return }
    recounts = true
    recount?.start(after: max(settings.countDelay, 20 * lookTime))
  }

  /// Goes on through the store for the lanes that have room, a page a turn.
  private func load() {
    guard !isStopping, !hasLoadTurn, wantsToLoad else { return }
    loadPage()
    guard wantsToLoad else { return }
    hasLoadTurn = true
    loop.onNextTick { [unowned self] in hasLoadTurn = false }
  }

  private func deliver(_ sink: Sink, _ now: UInt64) {
    switch sink.target {
    case .none: break
    case .url: if !isStopping { post(sink, now) }
    case .file(let file): append(sink, to: file, now)
    case .log: note(sink, now)
    }
  }

  private func schedule(_ now: UInt64) {
    var next = UInt64.max
    if !removed.isEmpty { next = removesAfter }
    for sink in sinks.values where sink.isConfigured {
      for lane in sink.lanes { if let time = lane.nextTime, time > now { next = min(next, time) } }
    }
    if next == .max { timer?.stop() } else { timer?.start(after: next > now ? next - now : 0) }
  }

  // MARK: Outcomes

  /// A number for a delivery that waits.
  func depart(_ flight: Flight) -> UInt64 {
    defer { nextFlight += 1 }
    flights[nextFlight] = flight
    return nextFlight
  }

  /// Removes an effect from the store at the end of the turn.
  func remove(_ key: EffectKey, of sink: Sink) {
    sink.settled.insert(key)
    removed.append((key, sink))
  }

  private func commitRemovals(_ now: UInt64) {
    guard !removed.isEmpty, now >= removesAfter else { return }
    writes.removeAll()
    for removal in removed {
      keyBuffer.removeAll()
      removal.key.write(to: keyBuffer)
      writes.delete(keyBuffer.bytes)
    }
    do throws(StoreError) {
      try services.context.store.commit(writes, durable: false)
    } catch {
      log(
        .error,
        "delivered effects can't be removed from the store yet; after a crash they are delivered again: \(error)")
      removesAfter = now < .max - settings.backoff.longest ? now + settings.backoff.first : now
      return
    }
    removesAfter = 0
    for removal in removed { removal.sink.settled.remove(removal.key) }
    removed.removeAll(keepingCapacity: removed.capacity <= 4096)
  }

  /// Writes a line of the log.
  func log(_ level: LogLine.Level, _ message: String, _ flight: Flight? = nil) {
    let fields = flight.map { flight in
      JSONValue.object([
        "sink": .string(flight.sink.name), "type": .string(flight.effect.type), "effect_id": .string(flight.effect.id),
      ]).text
    }
    services.context.log.write(
      LogLine(
        level, message, plugin: flight?.effect.plugin, subjectHash: flight.map { Self.hash($0.key.subject) },
        fields: fields ?? ""))
  }

  /// What a log shows of a subject.
  static func hash(_ subject: [UInt8]) -> String { subject.withUnsafeBytes { String(SHA256.hash($0).hex.prefix(12)) } }
}
