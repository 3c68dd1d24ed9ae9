import RuledCore
import RuledEngine

/// What the part of the engine that evaluates for the owner of the log has counted since the owner was last told.
///
/// Confined to the session's thread.
final class UntoldCounts {
  /// What the owner knows of a worker.
  fileprivate struct Worker {
    let figures: WorkerFigures
    var events = 0
    var queries = 0
    var duplicates = 0
    var errors: [RequestError.Code: Int] = [:]
  }

  /// What the owner knows of a plugin.
  fileprivate struct Plugin {
    let name: String
    let runtime: PluginRuntime
    var runs: Int
    var failures: Int
    var causes: [PluginRuntime.Cause: Int]
    var isSuspended = false
  }

  private var workers: [Worker]
  private var plugins: [Plugin]
  private let context: EngineContext
  private var damaged = 0

  /// Begins with a part that has not run yet; its plugins run as long as the owner does not say that they are suspended.
  init(_ figures: [WorkerFigures], _ context: EngineContext, _ catalog: Catalog) {
    self.context = context
    workers = figures.map { Worker(figures: $0) }
    plugins = catalog.plugins.map { plugin in
      let runtime = plugin.runtime
      runtime.resume()
      return Plugin(
        name: plugin.name, runtime: runtime, runs: runtime.runs, failures: runtime.failures, causes: runtime.causes)
    }
  }

  /// Suspends a plugin as the owner has done, or lets it run again.
  func setSuspended(_ name: String, _ isSuspended: Bool) {
    guard let index = plugins.firstIndex(where: { $0.name == name }) else { return }
    plugins[index].isSuspended = isSuspended
    if isSuspended { plugins[index].runtime.suspend() } else { plugins[index].runtime.resume() }
  }

  /// Takes what was counted since the last call.
  func take() -> ShareCounts {
    var counts = ShareCounts()
    for index in workers.indices { workers[index].take(into: &counts) }
    let nowDamaged = context.damagedMessages.load(ordering: .relaxed)
    counts.damaged = UInt64(max(0, nowDamaged - damaged))
    damaged = nowDamaged
    for index in plugins.indices {
      if let tally = plugins[index].take() { counts.plugins.append(tally) }
    }
    return counts
  }
}

extension UntoldCounts.Worker {
  /// Adds what the worker has counted since the last call.
  fileprivate mutating func take(into counts: inout ShareCounts) {
    counts.events += Self.growth(&events, figures.events.load(ordering: .relaxed))
    counts.queries += Self.growth(&queries, figures.queries.load(ordering: .relaxed))
    counts.duplicates += Self.growth(&duplicates, figures.duplicates.load(ordering: .relaxed))
    let now = figures.errors
    guard now != errors else { return }
    for (code, count) in now where count != errors[code, default: 0] {
      counts.errors[code, default: 0] += UInt64(count - errors[code, default: 0])
    }
    errors = now
  }

  private static func growth(_ known: inout Int, _ now: Int) -> UInt64 {
    defer { known = now }
    return UInt64(now - known)
  }
}

extension UntoldCounts.Plugin {
  /// What was counted of the plugin since the last call; nil if that is nothing.
  fileprivate mutating func take() -> PluginTally? {
    let (now, suspends) = (runtime.runs, runtime.isSuspended && !isSuspended)
    guard now != runs || runtime.failures != failures || suspends else { return nil }
    var tally = PluginTally(
      name: name, runs: UInt64(now - runs), lastStops: UInt64(runtime.lastStops), isSuspended: suspends)
    runs = now
    isSuspended = isSuspended || suspends
    guard runtime.failures != failures else { return tally }
    // A worker counts a failure before its cause: so what is known are the causes.
    let all = runtime.causes
    for (cause, count) in all where count != causes[cause, default: 0] {
      tally.failures[cause] = UInt64(count - causes[cause, default: 0])
    }
    causes = all
    failures = all.values.reduce(0, +)
    return tally
  }
}
