import RuledCore
import RuledDelivery

/// The sinks by name: configured ones, and those that effects name; confined to the outbox's thread.
final class SinkTable {
  private var sinks: [String: Sink] = [:]
  private var configured: [String: Configuration.Sink]
  private let services: Services
  /// Whether a courier delivers the effects that sinks with a URL get.
  private let hasCourier: Bool

  init(_ services: Services, hasCourier: Bool) {
    self.services = services
    self.hasCourier = hasCourier
    configured = services.context.configuration.sinks
    for name in configured.keys { sink(name) }
  }

  var all: some Collection<Sink> { sinks.values }

  /// The sink of that name; nil before its first use.
  subscript(_ name: String) -> Sink? { sinks[name] }

  /// The sink of that name, made on first use.
  @discardableResult
  func sink(_ name: String) -> Sink {
    if let sink = sinks[name] { return sink }
    let made = Sink(name: name, configuration: configured[name], figures: services.outbox.figures(of: name))
    if case .url(let receiver) = made.target, !hasCourier {
      Deliverer.readFiles(of: receiver, services.log)
    }
    sinks[name] = made
    return made
  }

  func isLeased(_ sink: Sink) -> Bool {
    switch sink.target {
    case .lease: true
    case .url: hasCourier
    case .none, .file, .log: false
    }
  }

  /// Whether effects leave to a sink without their subject: as the configuration says, or else the rules.
  func isAnonymous(_ sink: Sink) -> Bool {
    if let anonymous = configured[sink.name]?.anonymous { return anonymous }
    let rules = services.status.rulesInForce
    return [rules.live, rules.candidate?.rules].contains { $0?.anonymousSinks.contains(sink.name) == true }
  }

  /// Uses other sinks; secrets are read and files opened again.
  func reload(_ next: [String: Configuration.Sink]) {
    configured = next
    for (name, sink) in sinks {
      // A courier's leases outlive a change of settings that only the courier reads.
      let isForCourier = hasCourier && sink.configuration?.url != nil && next[name]?.url != nil
      guard sink.configuration == next[name] || isForCourier else {
        sinks[name] = nil
        sink.figures.reset()
        continue
      }
      switch sink.target {
      case .url(let receiver): if !hasCourier { Deliverer.readFiles(of: receiver, services.log) }
      case .file(let file): file.close()
      default: break
      }
      for queue in sink.queues { queue.resume() }
    }
    for name in next.keys { sink(name) }
  }
}
