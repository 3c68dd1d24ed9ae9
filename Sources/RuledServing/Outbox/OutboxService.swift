import RuledCore
import RuledDelivery
import RuledIO

/// Delivers effects on a thread of its own, or hands them out to clients that do: each at least once, and those of a subject in their order for each sink
/// and plugin.
///
/// An effect stays in the store until it is delivered, expired or given up; the thread holds a bounded window of them in each queue. Workers
/// add the effects that they commit. A scan of the store finds all others: at the start, after a backlog and every 10 minutes.
final class OutboxService: OutboxPart {
  /// Times that tests change.
  struct Settings: Sendable {
    var backoff = Backoff()
    /// How long a request may take, in milliseconds.
    var timeout = 30_000
    /// How often the store is scanned without a reason, in milliseconds.
    var scanPeriod: UInt64 = 600_000
    /// How long, at least, an effect of a sink without configuration waits until such effects are counted again, in milliseconds.
    var recountDelay: UInt64 = 1_000
  }

  /// Sends requests; nil if a courier does.
  private let deliverer: Deliverer?
  private let scan: EffectScan
  private let deliveries: EffectDelivery
  private let leases: EffectLeases
  private let listing: EffectListing
  private let failures: SinkFailures
  /// The next effect that waits for a time.
  private var alarm: LoopTimer?
  /// The end of the time that deliveries have when the service stops.
  private var deadline: LoopTimer?
  private var onStop: [@Sendable () -> Void] = []

  /// A service on the calling thread; tests pass a client of their own.
  init(
    services: Services, settings: Settings = Settings(),
    makeClient: (EventLoop) throws(SystemError) -> HTTPClient = { loop throws(SystemError) in try HTTPClient(on: loop) }
  ) throws(SystemError) {
    let loop = try EventLoop()
    do throws(SystemError) {
      deliverer =
        services.context.configuration.delivery == .courier
        ? nil : Deliverer(client: try makeClient(loop), timeout: settings.timeout, log: services.log)
    } catch {
      loop.close()
      throw error
    }
    let part = OutboxPart(services, settings, on: loop, hasCourier: deliverer == nil)
    scan = EffectScan(sharing: part)
    deliveries = EffectDelivery(part, deliverer)
    leases = EffectLeases(deliveries)
    listing = EffectListing(scan)
    failures = SinkFailures(sharing: part)
    super.init(sharing: part)
  }

  /// Delivers until it is stopped; called once.
  func run() throws(SystemError) {
    defer { close() }
    failures.resume()
    alarm = try LoopTimer(on: loop) {}
    deadline = try LoopTimer(on: loop) { [unowned self] in end() }
    try leases.begin()
    try services.outbox.mailbox.attach(to: loop) { [unowned self] messages in
      for message in messages { receive(message) }
    }
    loop.atTickEnd(.work) { [unowned self] in tick() }
    try scan.begin()
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
      if !deliveries.isStopping { for key in keys { scan.add(key) } }
    case .scanStore: scan.scanStore()
    case .reload(let next):
      store.retryGivenUp()
      sinks.reload(next)
      scan.scanStore()
    case .handlerAnswered(let number, let answer, let text):
      guard let delivery = deliveries.take(number) else { return }
      if let lease = delivery.lease {
        leases.proceed(delivery, of: lease, with: answer, text: text)
      } else {
        deliveries.proceed(delivery, with: answer, text: text)
      }
    case .markingEnded(let key, let name):
      sinks[name]?.completed.remove(key)
      scan.scheduleRecount()
    case .task(let task, let caller): execute(task, for: caller)
    case .changeEnded(let number, let isWhole): listing.endChange(number, isWhole: isWhole)
    case .recount: scan.scheduleRecount()
    case .endWaits(let connection, let receiver): leases.endWaits(of: connection, at: receiver)
    case .endAllWaits: leases.endWaits()
    case .stop(let milliseconds, let done):
      onStop.append(done)
      deliveries.isStopping = true
      deadline?.start(after: milliseconds)
    }
  }

  private func execute(_ task: OutboxTask, for caller: ControlCaller) {
    switch task {
    case .list(let params): listing.list(params, for: caller)
    case .show(let selection): listing.show(selection, for: caller)
    case .resend(let selection): listing.change(selection, isResend: true, for: caller)
    case .drop(let selection): listing.change(selection, isResend: false, for: caller)
    case .lease(let params): leases.lease(params, for: caller)
    case .confirm(let params): leases.confirm(params, for: caller)
    }
  }

  /// One tick of the loop: loads, sends, and removes delivered effects once for all.
  private func tick() {
    let now = loop.now
    if !deliveries.isStopping { scan.load() }
    if !services.areEffectsHeld { for sink in sinks.all where sink.isConfigured { deliveries.deliver(sink, now: now) } }
    leases.serveWaits()
    store.commitRemovals(now: now)
    failures.storeFailing(now: now)
    for sink in sinks.all { updateFigures(of: sink) }
    if deliveries.isStopping, (deliverer?.count ?? 0) == 0, store.nextRemovals == nil { return end() }
    scheduleTick(now: now)
  }

  private func updateFigures(of sink: Sink) {
    let waiting = sink.queues.reduce(0) { $0 + $1.count + $1.unloadedCount }
    scan.updateOldest(of: sink, waiting: waiting)
    let figures = sink.figures
    figures.set(waiting: waiting, unreadable: sink.unreadable.count, givenUp: sink.givenUp)
    if waiting == 0 || sink.oldest != nil { figures.setOldest(sink.oldest?.at) }
    let mayBeLeased = !services.areEffectsHeld && sinks.isLeased(sink)
    figures.note(unleased: mayBeLeased && waiting > 0 && sink.leasedCount == 0 && !leases.isAwaited(sink.name))
  }

  private func scheduleTick(now: UInt64) {
    var next = min(store.nextRemovals ?? .max, failures.nextStore ?? .max)
    for sink in sinks.all where sink.isConfigured {
      for queue in sink.queues { if let time = queue.nextTime, time > now { next = min(next, time) } }
    }
    if next == .max { alarm?.stop() } else { alarm?.start(after: next > now ? next - now : 0) }
  }

  private func end() {
    store.commitRemovals(now: .max)
    failures.storeFailing(now: .max)
    loop.stop()
  }
}

/// A part of the outbox, with what all of them share; confined to the outbox's thread.
class OutboxPart {
  let services: Services
  let settings: OutboxService.Settings
  let loop: EventLoop
  let store: EffectStore
  let sinks: SinkTable

  init(_ services: Services, _ settings: OutboxService.Settings, on loop: EventLoop, hasCourier: Bool) {
    self.services = services
    self.settings = settings
    self.loop = loop
    store = EffectStore(services.context, settings.backoff)
    sinks = SinkTable(services, hasCourier: hasCourier)
  }

  init(sharing other: OutboxPart) {
    (services, settings, loop) = (other.services, other.settings, other.loop)
    (store, sinks) = (other.store, other.sinks)
  }
}
