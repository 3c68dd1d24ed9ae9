package import RuledCore

/// One sink: how it delivers effects, and the effects that it has to deliver.
package final class Sink {
  package enum Target {
    /// Not configured: effects stay in the store.
    case none
    case url(URLReceiver)
    /// Handed out to clients that lease them.
    case lease
    case file(SinkFile)
    case log
  }

  /// The most requests under way, each for another subject.
  package static let maximumRequests = 8

  package let name: String
  package let configuration: Configuration.Sink?
  package let target: Target
  package let figures: SinkFigures
  /// The loaded effects, by plugin.
  package private(set) var queues: [DeliveryQueue] = []
  /// The subjects with an effect whose delivery is under way.
  package var busySubjects: Set<[UInt8]> = []
  /// Delivered, expired or given-up effects, while the store does not show it yet.
  package var completed: Set<EffectKey> = []
  /// Effects whose read failed when they were next.
  package var unreadable: Set<EffectKey> = []
  /// The number of given-up effects, about, and the number of them that the scan under way has counted so far.
  package var givenUp = 0
  package var scannedGivenUp = 0
  /// The effect that waits longest as far as is known, and when it was emitted, in the clock's microseconds.
  package var oldest: (key: EffectKey, at: Int64)?
  /// The effect that waited longest at the last scan of the store, and the one among those that the scan under way has found so far.
  package var storedOldest: EffectKey?
  package var scannedOldest: EffectKey?
  package var leasedCount = 0

  package init(name: String, configuration: Configuration.Sink?, figures: SinkFigures) {
    self.name = name
    self.configuration = configuration
    self.figures = figures
    if let url = configuration?.url {
      target = .url(URLReceiver(url, sink: name, configuration))
    } else if let file = configuration?.file {
      target = .file(SinkFile(path: file))
    } else if configuration?.lease == true {
      target = .lease
    } else {
      target = configuration?.log == true ? .log : .none
    }
  }

  package var isConfigured: Bool { if case .none = target { false } else { true } }

  /// Whether the plugins' handlers make the requests.
  var callsHandlers: Bool {
    switch target {
    case .url, .lease: true
    case .none, .file, .log: false
    }
  }

  package func existingQueue(of plugin: String) -> DeliveryQueue? {
    let name = callsHandlers ? plugin : ""
    return queues.first { $0.plugin == name }
  }

  /// The queue of a plugin's effects.
  ///
  /// Only sinks whose plugins' handlers are called have a queue for each plugin, because handlers fail by plugin; the others have one for
  /// all.
  package func queue(of plugin: String) -> DeliveryQueue {
    let name = callsHandlers ? plugin : ""
    if let queue = queues.first(where: { $0.plugin == name }) { return queue }
    let queue = DeliveryQueue(plugin: name)
    queues.append(queue)
    return queue
  }

  /// The queue and the subject to deliver next: of all effects that may be sent now, the earliest emitted one.
  package func next(now: UInt64) -> (queue: DeliveryQueue, subject: SubjectEffects)? {
    var best: (queue: DeliveryQueue, subject: SubjectEffects)?
    for queue in queues {
      guard let subject = queue.next(now: now, where: { !busySubjects.contains($0) }) else { continue }
      if let best, best.subject.first < subject.first { continue }
      best = (queue, subject)
    }
    return best
  }

  /// Notes that an effect does not wait any longer.
  package func ended(_ key: EffectKey) {
    if oldest?.key == key { oldest = nil }
  }
}

extension Configuration.Sink {
  package var delivers: Bool { url != nil || file != nil || log || lease }
}
