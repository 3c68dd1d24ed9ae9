import RuledCore
import RuledEngine
import RuledStore

/// The daemon's metrics in the Prometheus text format; plugins are labels, subjects never are.
enum PrometheusText {
  /// The text of all metrics.
  static func make(_ services: Services) -> [UInt8] {
    let text = Writer()
    let (status, workers, messages) = (services.status, services.figures, services.messages)
    let plugins = status.catalog?.plugins ?? []
    text.gauge("ruled_uptime_seconds", "How long the daemon has been running.", status.figures.uptime)
    text.gauge("ruled_store_up", "Whether the store takes commits.", status.storeIsWell ? 1 : 0)
    text.gauge(
      "ruled_reload_errors", "Errors in the rules folder; 0 when the rules load.", status.figures.reloadErrors)
    text.counter(
      "ruled_events_total", "Events that clients sent.", workers.reduce(0) { $0 + $1.events.load(ordering: .relaxed) })
    text.counter("ruled_commits_total", "Commits to subjects since the store was made.", Int(services.hub.last))
    text.counter(
      "ruled_plugin_runs_total", "Events that a plugin has handled.",
      plugins: plugins.map { ($0.name, $0.runtime.runs) })
    text.counter(
      "ruled_plugin_failures_total", "Events that a plugin has failed on.",
      plugins: plugins.map { ($0.name, $0.runtime.failures) })
    text.gauge(
      "ruled_plugin_suspended", "Whether a plugin is suspended.",
      plugins: plugins.map { ($0.name, $0.runtime.isSuspended ? 1 : 0) })
    if let parked = parkedCounts(services) {
      text.gauge("ruled_parked", "Parked events that wait for a retry.", plugins: parked)
    }
    text.gauge(
      "ruled_messages_waiting", "Messages that are committed and not applied yet.", messages.waiting)
    text.gauge(
      "ruled_plugin_storming", "Whether a plugin's messages cause too many others.",
      plugins: plugins.map { ($0.name, messages.storming.contains($0.name) ? 1 : 0) })
    text.gauge(
      "ruled_hot_subjects", "Subjects in the cache.",
      workers.reduce(0) { $0 + $1.hotSubjects.load(ordering: .relaxed) })
    text.gauge(
      "ruled_hot_bytes", "Memory of the cache, in bytes.",
      workers.reduce(0) { $0 + $1.hotBytes.load(ordering: .relaxed) })
    text.gauge("ruled_connections", "Open connections.", services.connections.load(ordering: .relaxed))
    text.gauge(
      "ruled_requests_in_flight", "Requests that are accepted and not answered yet.",
      services.inFlight.load(ordering: .relaxed))
    text.gauge(
      "ruled_http_bytes", "Memory of HTTP requests and responses, in bytes.",
      services.http.withLock { $0 }?.heldBytes ?? 0)
    return Array(text.buffer.bytes)
  }

  /// How many parked events each plugin has, in order of name; nil when the store can't be read.
  private static func parkedCounts(_ services: Services) -> [(plugin: String, count: Int)]? {
    var counts: [String: Int] = [:]
    for plugin in services.status.catalog?.plugins ?? [] { counts[plugin.name] = 0 }
    var after: String?
    repeat {
      guard let page = try? StoreListing.parked(services.context, plugin: nil, after: after, limit: 1000) else {
        return nil
      }
      for parked in page.parked { counts[parked["plugin"]?.stringValue ?? "", default: 0] += 1 }
      after = page.next
    } while after != nil
    return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Writes metrics, each with one sample or with one for each plugin.
  private struct Writer {
    let buffer = ByteBuffer(capacity: 4096)

    func gauge(_ name: String, _ help: String, _ value: Int) {
      begin(name, "gauge", help)
      buffer.append(contentsOf: "\(name) \(value)\n")
    }

    func counter(_ name: String, _ help: String, _ value: Int) {
      begin(name, "counter", help)
      buffer.append(contentsOf: "\(name) \(value)\n")
    }

    func gauge(_ name: String, _ help: String, plugins: [(String, Int)]) {
      begin(name, "gauge", help)
      for (plugin, value) in plugins { sample(name, plugin, value) }
    }

    func counter(_ name: String, _ help: String, plugins: [(String, Int)]) {
      begin(name, "counter", help)
      for (plugin, value) in plugins { sample(name, plugin, value) }
    }

    private func begin(_ name: String, _ type: String, _ help: String) {
      buffer.append(contentsOf: "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n")
    }

    private func sample(_ name: String, _ plugin: String, _ value: Int) {
      let label = plugin.flatMap { $0 == "\\" || $0 == "\"" ? ["\\", $0] : [$0] }
      buffer.append(contentsOf: "\(name){plugin=\"\(String(label))\"} \(value)\n")
    }
  }
}
