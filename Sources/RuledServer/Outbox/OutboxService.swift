import RuledCore
import RuledDelivery
import RuledEngine
import RuledIO
import RuledJSON
import RuledStore

/// Delivers effects on a thread of its own, or hands them out to those who do: each at least once, and those of a subject in their order for
/// each sink and plugin.
///
/// An effect stays in the store until it is delivered, expired or given up; the thread holds a bounded window of them in each queue. Workers
/// add the effects that they commit. A scan of the store finds all others: at the start, after a backlog and every 10 minutes.
final class OutboxService {
  /// Times that tests change.
  struct Settings: Sendable {
    /// The waits between tries.
    var backoff = Backoff()
    /// How long a request may take, in milliseconds.
    var timeout = 30_000
    /// How often the store is scanned without a reason, in milliseconds.
    var scanPeriod: UInt64 = 600_000
    /// How long, at least, an effect of a sink without configuration waits until such effects are counted again, in milliseconds.
    var recountDelay: UInt64 = 1_000
  }

  /// An effect that waits for its handler or for its receiver.
  struct Delivery {
    let sink: Sink
    let queue: DeliveryQueue
    let subject: SubjectEffects
    let key: EffectKey
    let effect: StoredEffect
    /// The lease that waits for it; nil if the outbox delivers it itself.
    let lease: LeaseRequest?
  }

  /// The timers of the service.
  struct Timers {
    /// The next effect that waits for a time.
    let delivery: LoopTimer
    /// The end of the time that deliveries have when the service stops.
    let deadline: LoopTimer
    /// A scan without a reason.
    let scan: LoopTimer
    /// A scan after something could not be read.
    let rescan: LoopTimer
    /// A scan that counts effects.
    let recount: LoopTimer
    /// The end of leases, and of the waits for them.
    let leases: LoopTimer
    /// A tick that finds out which effects have waited longest.
    let oldest: LoopTimer
  }

  let services: Services
  let settings: Settings
  let loop: EventLoop
  /// Sends requests; nil if a courier does.
  let deliverer: Deliverer?
  private(set) var sinks: [String: Sink] = [:]
  var scan = Scan()
  var leases = Leases()
  var failures = Failures()
  private(set) var isStopping = false
  /// The timers, while the service runs.
  private(set) var timers: Timers?

  private var configured: [String: Configuration.Sink]
  private var deliveries: [UInt64: Delivery] = [:]
  private var changeEnds: [UInt64: (Bool) -> Void] = [:]
  private var lastDelivery: UInt64 = 0
  private var hasLoadedInTick = false
  private var onStop: [@Sendable () -> Void] = []
  /// Effects that are to be removed from the store, and when that is tried next.
  private var removals: [(key: EffectKey, sink: Sink)] = []
  private var nextRemoval: UInt64 = 0
  let keyBuffer = ByteBuffer(capacity: 320)
  let value = ByteBuffer(capacity: 4096)
  /// Parses stored effects.
  let document = StoredEffect.makeDocument()
  private let writes = WriteSet(capacity: 4096)

  /// A service on the calling thread; tests pass a client of their own.
  init(
    services: Services, settings: Settings = Settings(),
    makeClient: (EventLoop) throws(SystemError) -> HTTPClient = { loop throws(SystemError) in try HTTPClient(on: loop) }
  ) throws(SystemError) {
    self.services = services
    self.settings = settings
    configured = services.context.configuration.sinks
    scan.retriesBefore = services.context.nextSequence()
    let loop = try EventLoop()
    do throws(SystemError) {
      deliverer =
        services.context.configuration.delivery == .courier
        ? nil : Deliverer(client: try makeClient(loop), timeout: settings.timeout, log: services.context.log)
    } catch {
      loop.close()
      throw error
    }
    self.loop = loop
  }

  /// Delivers until it is stopped; called once.
  func run() throws(SystemError) {
    defer { close() }
    for name in configured.keys { sink(name) }
    resumeFailures()
    timers = Timers(
      delivery: try LoopTimer(on: loop) {},
      deadline: try LoopTimer(on: loop) { [unowned self] in end() },
      scan: try LoopTimer(on: loop) { [unowned self] in scanStore() },
      rescan: try LoopTimer(on: loop) { [unowned self] in scanStore() },
      recount: try LoopTimer(on: loop) { [unowned self] in
        scan.recountIsScheduled = false
        scanStore()
      },
      leases: try LoopTimer(on: loop) { [unowned self] in checkLeases() },
      oldest: try LoopTimer(on: loop) { [unowned self] in scan.oldestIsScheduled = false })
    timers?.scan.start(after: settings.scanPeriod, every: settings.scanPeriod)
    try services.outbox.mailbox.attach(to: loop) { [unowned self] messages in
      for message in messages { receive(message) }
    }
    loop.atTickEnd(.work) { [unowned self] in tick() }
    scanStore()
    loop.onNextTick {}
    loop.run()
  }

  private func close() {
    deliverer?.close()
    services.outbox.mailbox.close()
    loop.close()
    for done in onStop { done() }
  }

  private func receive(_ message: Outbox.Message) {
    switch message {
    case .add(let keys):
      services.outbox.removeFromBacklog(keys.count)
      if !isStopping { for key in keys { add(key) } }
    case .scanStore: scanStore()
    case .reload(let sinks): reload(sinks)
    case .handlerAnswered(let number, let answer, let text):
      if let delivery = deliveries.removeValue(forKey: number) { proceed(delivery, with: answer, text: text) }
    case .markingEnded(let key, let name):
      sinks[name]?.completed.remove(key)
      scheduleRecount()
    case .task(let task, let caller): execute(task, for: caller)
    case .changeEnded(let number, let isWhole): changeEnds.removeValue(forKey: number)?(isWhole)
    case .recount: scheduleRecount()
    case .endWaits(let connection, let receiver): endWaits(of: connection, at: receiver)
    case .endAllWaits: endWaits()
    case .stop(let milliseconds, let done):
      onStop.append(done)
      isStopping = true
      timers?.deadline.start(after: milliseconds)
    }
  }

  // MARK: Sinks

  /// The sink of that name, made on first use.
  @discardableResult
  func sink(_ name: String) -> Sink {
    if let sink = sinks[name] { return sink }
    let made = Sink(name: name, configuration: configured[name], figures: services.outbox.figures(of: name))
    if case .url(let receiver) = made.target, deliverer != nil {
      Deliverer.readFiles(of: receiver, services.context.log)
    }
    sinks[name] = made
    return made
  }

  private func reload(_ next: [String: Configuration.Sink]) {
    configured = next
    scan.retriesBefore = services.context.nextSequence()
    for (name, sink) in sinks {
      // A courier's leases outlive a change of what only the courier reads.
      let isForCourier = deliverer == nil && sink.configuration?.url != nil && next[name]?.url != nil
      guard sink.configuration == next[name] || isForCourier else {
        sinks[name] = nil
        sink.figures.reset()
        continue
      }
      switch sink.target {
      case .url(let receiver): if deliverer != nil { Deliverer.readFiles(of: receiver, services.context.log) }
      case .file(let file): file.close()
      default: break
      }
      for queue in sink.queues { queue.resume() }
    }
    for name in next.keys { sink(name) }
    scanStore()
  }

  // MARK: Ticks

  /// One tick of the loop: loads, sends, and removes delivered effects once for all.
  private func tick() {
    let now = loop.now
    load()
    if !isHeld { for sink in sinks.values where sink.isConfigured { deliver(sink, now: now) } }
    serveWaits()
    commitRemovals(now: now)
    storeFailures(now: now)
    for sink in sinks.values { updateFigures(of: sink) }
    if isStopping, (deliverer?.count ?? 0) == 0, removals.isEmpty { return end() }
    scheduleTick(now: now)
  }

  /// Whether nothing is delivered or handed out for now.
  var isHeld: Bool { services.effectsAreHeld.load(ordering: .acquiring) }

  private func deliver(_ sink: Sink, now: UInt64) {
    switch sink.target {
    case .none, .lease: break
    case .url: if !isStopping, deliverer != nil { post(sink, now: now) }
    case .file(let file): append(sink, to: file, now: now)
    case .log: writeToLog(sink, now: now)
    }
  }

  /// Loads a page of effects in each tick until nothing is left to load.
  private func load() {
    guard !isStopping, !hasLoadedInTick, hasMoreToLoad else { return }
    loadPage()
    guard hasMoreToLoad else { return }
    hasLoadedInTick = true
    loop.onNextTick { [unowned self] in hasLoadedInTick = false }
  }

  private func scheduleTick(now: UInt64) {
    var next = UInt64.max
    if !removals.isEmpty { next = nextRemoval }
    if failuresHaveChanged { next = min(next, failures.nextTime) }
    for sink in sinks.values where sink.isConfigured {
      for queue in sink.queues { if let time = queue.nextTime, time > now { next = min(next, time) } }
    }
    if next == .max { timers?.delivery.stop() } else { timers?.delivery.start(after: next > now ? next - now : 0) }
  }

  private func end() {
    commitRemovals(now: .max)
    storeFailures(now: .max)
    loop.stop()
  }

  // MARK: Results

  /// Keeps what follows once a change of effects is durable, or is lost; returns its number.
  func registerEnd(_ end: @escaping (_ isWhole: Bool) -> Void) -> UInt64 {
    lastDelivery += 1
    changeEnds[lastDelivery] = end
    return lastDelivery
  }

  /// Keeps a delivery while its handler runs; returns its number.
  func register(_ delivery: Delivery) -> UInt64 {
    lastDelivery += 1
    deliveries[lastDelivery] = delivery
    return lastDelivery
  }

  /// Removes an effect from the store at the end of the tick.
  func remove(_ key: EffectKey, of sink: Sink) {
    sink.ended(key)
    sink.completed.insert(key)
    removals.append((key, sink))
  }

  /// Removes the effects from the store that are delivered or expired.
  func commitRemovals(now: UInt64) {
    guard !removals.isEmpty, now >= nextRemoval else { return }
    writes.removeAll()
    for removal in removals {
      keyBuffer.removeAll()
      removal.key.write(to: keyBuffer)
      writes.delete(keyBuffer.bytes)
    }
    do throws(StoreError) {
      try services.context.store.commit(writes, durable: false)
    } catch {
      services.context.log.write(
        LogLine(
          .error,
          "delivered effects can't be removed from the store yet; after a crash they are delivered again: \(error)"))
      nextRemoval = now < .max - settings.backoff.longest ? now + settings.backoff.first : now
      return
    }
    nextRemoval = 0
    for removal in removals { removal.sink.completed.remove(removal.key) }
    removals.removeAll(keepingCapacity: removals.capacity <= 4096)
  }

  /// Executes a method for a client.
  private func execute(_ task: OutboxTask, for caller: ControlCaller) {
    switch task {
    case .list(let params): list(params, for: caller)
    case .show(let selection): show(selection, for: caller)
    case .resend(let selection): change(selection, .resend, for: caller)
    case .drop(let selection): change(selection, .drop, for: caller)
    case .lease(let params): lease(params, for: caller)
    case .confirm(let params): confirm(params, for: caller)
    }
  }

  /// Replies to a client through the thread that has its connection.
  func reply(_ result: Result<JSONValue, RequestError>, to caller: ControlCaller) {
    services.reply(result, to: caller)
  }

  /// Writes a line on an effect to the log, at most one a minute for each sink and `message`; `reason` ends it.
  func log(_ level: LogLine.Level, _ message: String, _ reason: String, _ delivery: Delivery) {
    services.context.log.write(
      LogLine(
        level, "\(message): \(reason)", plugin: delivery.effect.plugin,
        subjectHash: LogLine.hash(of: delivery.key.subject),
        fields: Self.logFields(delivery.effect)), limitedBy: "\(message), sink \(delivery.sink.name)")
  }

  /// What the log shows of an effect.
  static func logFields(_ effect: StoredEffect) -> String {
    JSONValue.object([
      "sink": .string(effect.sink), "type": .string(effect.type), "effect_id": .string(effect.id),
    ]).text
  }
}
