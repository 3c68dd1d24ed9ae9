import RuledCore
import RuledIO
import RuledJSON
import RuledWire

/// Delivers the effects of a daemon from a process of its own: it leases them over the daemon's socket, sends their requests, and confirms
/// the results.
///
/// The daemon decides on the order, on waits and on giving effects up. The courier only has the network.
final class Courier {
  /// How long effects are leased, in seconds: more than two requests may take.
  private static let leaseSeconds = 90
  /// How long the daemon may wait with its answer until there are effects, in seconds.
  private static let waitSeconds = 30
  /// How long deliveries under way may take to end when the courier ends, in milliseconds.
  private static let endTime: UInt64 = 3_000
  /// How long a request may take, in milliseconds.
  private static let timeout = 30_000

  private let loop: EventLoop
  private let log: any EventLog
  private let readConfiguration: () throws(StartError) -> Configuration
  private let daemon: DaemonConnection
  private let deliverer: Deliverer
  private var sinks: [String: CourierSink] = [:]
  /// The results that the daemon has not taken yet, by lease.
  private var results: [String: JSONValue] = [:]
  /// The leases in `results` that are on their way.
  private var sentResults: Set<String> = []
  private var isStopping = false
  private let notifier = SystemdNotifier.fromEnvironment()

  /// Delivers until SIGTERM or SIGINT.
  static func run(
    _ configuration: Configuration, log: any EventLog,
    readConfiguration: @escaping () throws(StartError) -> Configuration
  ) throws(StartError) {
    do throws(SystemError) {
      SystemCalls.ignoreBrokenPipes()
      let loop = try EventLoop()
      let courier = try Courier(configuration, on: loop, log: log, readConfiguration: readConfiguration)
      try courier.serve()
      loop.close()
    } catch { throw StartError("the courier can't run: \(error)") }
  }

  private init(
    _ configuration: Configuration, on loop: EventLoop, log: any EventLog,
    readConfiguration: @escaping () throws(StartError) -> Configuration
  ) throws(SystemError) {
    self.loop = loop
    self.log = log
    self.readConfiguration = readConfiguration
    deliverer = Deliverer(client: try HTTPClient(on: loop), timeout: Self.timeout, log: log)
    daemon = try DaemonConnection(to: configuration.socket, on: loop, log: log)
    adopt(configuration)
  }

  private func serve() throws(SystemError) {
    let signals = try ProcessSignals().attach(to: loop) { [unowned self] signal in
      if signal == .hangUp { reload() } else { stop() }
    }
    let end = try LoopTimer(on: loop) { [unowned self] in loop.stop() }
    loop.atTickEnd(.work) { [unowned self] in
      confirmResults()
      if isStopping, deliverer.count == 0, results.isEmpty { loop.stop() }
      if isStopping, !end.isRunning { end.start(after: Self.endTime) }
    }
    daemon.onConnect = { [unowned self] in
      sentResults = []
      for sink in sinks.values {
        sink.isAsking = false
        ask(for: sink)
      }
    }
    daemon.connect()
    notifier.ready(status: "delivering to \(sinks.count) sinks")
    log.info("delivering to \(sinks.count) sinks of the daemon at \(daemon.path)")
    loop.run()
    signals.close()
    end.close()
    for sink in sinks.values { sink.timer.close() }
    daemon.close()
    deliverer.close()
  }

  // MARK: Configuration

  private func adopt(_ configuration: Configuration) {
    for (name, sink) in configuration.sinks {
      guard let url = sink.url else { continue }
      let receiver = URLReceiver(url, sink: name, sink)
      Deliverer.readFiles(of: receiver, log)
      if let known = sinks[name] {
        known.receiver = receiver
      } else {
        do throws(SystemError) {
          let timer = try LoopTimer(on: loop) { [unowned self] in if let sink = sinks[name] { ask(for: sink) } }
          sinks[name] = CourierSink(name, receiver, timer: timer)
        } catch { log.error("the sink '\(name)' can't be served: \(error)") }
      }
    }
    for name in sinks.keys where configuration.sinks[name]?.url == nil {
      sinks.removeValue(forKey: name)?.timer.close()
    }
  }

  private func reload() {
    notifier.reloading()
    do throws(StartError) {
      adopt(try readConfiguration())
      for sink in sinks.values { ask(for: sink) }
    } catch { log.error("the configuration was refused, the old one stays in force: \(error)") }
    notifier.ready(status: "delivering to \(sinks.count) sinks")
  }

  private func stop() {
    isStopping = true
    notifier.stopping()
    loop.onNextTick {}
  }

  // MARK: Leasing

  /// Asks the daemon for effects of a sink that has room.
  private func ask(for sink: CourierSink) {
    guard !isStopping, !sink.isAsking, sink.active < Sink.maximumRequests, sinks[sink.name] === sink else { return }
    let params: JSONValue = .object([
      "sink": .string(sink.name), "limit": .integer(Int64(Sink.maximumRequests - sink.active)),
      "seconds": .integer(Int64(Self.leaseSeconds)), "wait": .integer(Int64(Self.waitSeconds)),
    ])
    sink.isAsking = daemon.call(.lease, params) { [weak self, weak sink] result in
      guard let self, let sink else { return }
      sink.isAsking = false
      switch result {
      case .success(let reply):
        sink.failures = 0
        for lease in reply["leases"]?.arrayValue ?? [] { deliver(lease, to: sink) }
        ask(for: sink)
      case .failure(let error):
        sink.failures += 1
        log.error("the daemon hands out no effects of the sink '\(sink.name)', it is asked again: \(error)")
        sink.timer.start(after: sink.backoff.delay(after: sink.failures))
      }
    }
  }

  private func deliver(_ lease: JSONValue, to sink: CourierSink) {
    guard let name = lease["lease"]?.stringValue else { return }
    guard !isStopping else {
      return confirm(name, .failed(DeliveryFailure(reason: "the courier is stopping"), atLeast: 0, .afterSeveral))
    }
    guard let effect = lease["effect"], let id = effect["id"]?.stringValue else {
      return confirm(name, .givenUp(DeliveryFailure(reason: "the courier can't read what it leased")))
    }
    let request = lease["request"].flatMap(HandlerRequest.init) ?? HandlerRequest(body: Array(effect.text.utf8))
    sink.active += 1
    deliverer.send(request, id: id, to: sink.receiver) { [unowned self] result in
      sink.active -= 1
      confirm(name, result)
      ask(for: sink)
    }
  }

  private func confirm(_ lease: String, _ result: DeliveryResult) { results[lease] = result.json(lease: lease) }

  /// Tells the daemon the results, until it has taken them.
  private func confirmResults() {
    let unsent = results.filter { !sentResults.contains($0.key) }
    guard !unsent.isEmpty else { return }
    let leases = Array(unsent.keys)
    let params: JSONValue = .object(["leases": .array(Array(unsent.values))])
    let isSent = daemon.call(.confirm, params) { [weak self] result in
      guard let self else { return }
      for lease in leases {
        results[lease] = nil
        sentResults.remove(lease)
      }
      if case .failure(let error) = result {
        log.write(
          LogLine(.error, "the daemon does not take what came of effects, they are delivered again: \(error)"),
          limitedBy: "effects that the daemon does not take")
      }
    }
    if isSent { sentResults.formUnion(leases) }
  }
}

final class CourierSink {
  let name: String
  var receiver: URLReceiver
  /// Asks again after a failure.
  let timer: LoopTimer
  let backoff = Backoff()
  /// How often in a row the daemon has handed out nothing but an error.
  var failures = 0
  var isAsking = false
  /// The number of effects under way.
  var active = 0

  init(_ name: String, _ receiver: URLReceiver, timer: LoopTimer) {
    self.name = name
    self.receiver = receiver
    self.timer = timer
  }
}

extension HandlerRequest {
  /// The request that `lease` has handed out.
  fileprivate init?(_ json: JSONValue) {
    guard let method = json["method"]?.stringValue, let body = json["body"]?.stringValue else { return nil }
    self.init(url: json["url"]?.stringValue, method: method, body: Array(body.utf8))
    headers = (json["headers"]?.objectValue?.members ?? []).map { ($0.name, $0.value.stringValue ?? "") }
  }
}
