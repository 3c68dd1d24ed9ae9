import RuledCore
import RuledEngine

/// One sink: how it delivers, and what it has before it.
final class Sink {
  /// How effects leave.
  enum Target {
    /// Not configured: effects stay.
    case none
    /// Posted.
    case url(String, SinkSecret?)
    /// Appended to a file.
    case file(SinkFile)
    /// Noted in the log.
    case log
  }

  /// How many requests may be in flight, each for another subject.
  static let requests = 8

  /// Its name.
  let name: String
  /// What it was configured with.
  let configuration: Configuration.Sink?
  /// How effects leave.
  let target: Target
  /// How it fares.
  let figures: SinkFigures
  /// What it has before it, by plugin.
  private(set) var lanes: [Lane] = []
  /// The subjects of the effects in flight.
  var busy: Set<[UInt8]> = []
  /// Effects of which something came that the store does not know yet.
  var settled: Set<EffectKey> = []
  /// Effects that could not be read when their turn came.
  var unreadable: Set<EffectKey> = []

  /// A sink.
  init(name: String, configuration: Configuration.Sink?, figures: SinkFigures) {
    self.name = name
    self.configuration = configuration
    self.figures = figures
    if let url = configuration?.url {
      target = .url(url, configuration?.secretFile.map { SinkSecret(path: $0) })
    } else if let file = configuration?.file {
      target = .file(SinkFile(path: file))
    } else {
      target = configuration?.log == true ? .log : .none
    }
  }

  /// Whether effects can leave.
  var isConfigured: Bool { if case .none = target { false } else { true } }

  /// The lane of a plugin: handlers fail by plugin, so that only those sinks that have handlers tell plugins apart.
  func lane(of plugin: String) -> Lane {
    var name = ""
    if case .url = target { name = plugin }
    if let lane = lanes.first(where: { $0.plugin == name }) { return lane }
    let lane = Lane(plugin: name)
    lanes.append(lane)
    return lane
  }

  /// The lane and the subject whose turn is next: the effect that was emitted first, of those that may go out now.
  func next(now: UInt64) -> (lane: Lane, queue: SubjectQueue)? {
    var best: (lane: Lane, queue: SubjectQueue)?
    for lane in lanes {
      guard let queue = lane.peek(now: now, { !busy.contains($0) }) else { continue }
      if let found = best, found.queue.first < queue.first { continue }
      best = (lane, queue)
    }
    return best
  }

  /// Tells how many effects wait, and how many of them can't be read.
  func publish() {
    figures.wait(lanes.reduce(0) { $0 + $1.count + $1.unloaded })
    figures.cannotRead(unreadable.count)
  }
}

extension Configuration.Sink {
  /// Whether it says where effects go.
  var delivers: Bool { url != nil || file != nil || log }
}
