import RuledCore
import RuledEngine
import RuledStore

/// The daemon's metrics in the Prometheus text format; plugins are labels, subjects never are.
enum PrometheusText {
  /// The text of all metrics.
  static func make(_ services: Services) -> [UInt8] {
    var text = Writer()
    let figures = services.status.figures
    let plugins = services.status.catalog?.plugins ?? []
    text.family("ruled_uptime_seconds", "gauge", "How long the daemon has been running.")
    text.sample("ruled_uptime_seconds", figures.uptime)
    text.family("ruled_store_up", "gauge", "Whether the store takes commits.")
    text.sample("ruled_store_up", services.status.storeIsWell ? 1 : 0)
    text.family("ruled_reload_errors", "gauge", "Errors in the rules folder; 0 when the rules load.")
    text.sample("ruled_reload_errors", figures.reloadErrors)
    text.family("ruled_events_total", "counter", "Events that clients sent.")
    text.sample("ruled_events_total", services.figures.reduce(0) { $0 + $1.events.load(ordering: .relaxed) })
    text.family("ruled_commits_total", "counter", "Commits to subjects since the store was made.")
    text.sample("ruled_commits_total", Int(services.hub.last))
    text.family("ruled_plugin_runs_total", "counter", "Events that a plugin has handled.")
    for plugin in plugins { text.sample("ruled_plugin_runs_total", plugin.name, plugin.runtime.runs) }
    text.family("ruled_plugin_failures_total", "counter", "Events that a plugin has failed on.")
    for plugin in plugins { text.sample("ruled_plugin_failures_total", plugin.name, plugin.runtime.failures) }
    text.family("ruled_plugin_suspended", "gauge", "Whether a plugin is suspended.")
    for plugin in plugins { text.sample("ruled_plugin_suspended", plugin.name, plugin.runtime.isSuspended ? 1 : 0) }
    writeParked(services, to: &text)
    let messages = services.messages
    text.family("ruled_messages_waiting", "gauge", "Messages that are committed and not applied yet.")
    text.sample("ruled_messages_waiting", messages.waiting)
    text.family("ruled_plugin_storming", "gauge", "Whether a plugin's messages cause too many others.")
    for plugin in plugins {
      text.sample("ruled_plugin_storming", plugin.name, messages.storming.contains(plugin.name) ? 1 : 0)
    }
    text.family("ruled_hot_subjects", "gauge", "Subjects in the cache.")
    text.sample("ruled_hot_subjects", services.figures.reduce(0) { $0 + $1.hotSubjects.load(ordering: .relaxed) })
    text.family("ruled_hot_bytes", "gauge", "Memory of the cache, in bytes.")
    text.sample("ruled_hot_bytes", services.figures.reduce(0) { $0 + $1.hotBytes.load(ordering: .relaxed) })
    text.family("ruled_connections", "gauge", "Open connections.")
    text.sample("ruled_connections", services.connections.load(ordering: .relaxed))
    text.family("ruled_requests_in_flight", "gauge", "Requests that are accepted and not answered yet.")
    text.sample("ruled_requests_in_flight", services.inFlight.load(ordering: .relaxed))
    text.family("ruled_http_bytes", "gauge", "Memory of HTTP requests and responses, in bytes.")
    text.sample("ruled_http_bytes", services.http.withLock { $0 }?.heldBytes ?? 0)
    return Array(text.buffer.bytes)
  }

  private static func writeParked(_ services: Services, to text: inout Writer) {
    var counts: [String: Int] = [:]
    for plugin in services.status.catalog?.plugins ?? [] { counts[plugin.name] = 0 }
    var after: String?
    repeat {
      guard let page = try? StoreListing.parked(services.context, plugin: nil, after: after, limit: 1000) else {
        return
      }
      for parked in page.parked { counts[parked["plugin"]?.stringValue ?? "", default: 0] += 1 }
      after = page.next
    } while after != nil
    text.family("ruled_parked", "gauge", "Parked events that wait for a retry.")
    for (plugin, count) in counts.sorted(by: { $0.key < $1.key }) { text.sample("ruled_parked", plugin, count) }
  }

  private struct Writer {
    let buffer = ByteBuffer(capacity: 4096)

    func family(_ name: String, _ kind: String, _ help: String) {
      buffer.append(contentsOf: "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n")
    }

    func sample(_ name: String, _ value: Int) { buffer.append(contentsOf: "\(name) \(value)\n") }

    func sample(_ name: String, _ plugin: String, _ value: Int) {
      let label = plugin.flatMap { $0 == "\\" || $0 == "\"" ? ["\\", $0] : [$0] }
      buffer.append(contentsOf: "\(name){plugin=\"\(String(label))\"} \(value)\n")
    }
  }
}
