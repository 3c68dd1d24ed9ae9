/// What the configuration file sets; every key has a default.
package struct Configuration: Sendable, Equatable {
  /// The path of the stream socket.
  package var socket = "/run/ruled/ruled.sock"
  /// The folder of the plugins.
  package var rules = "/etc/ruled/rules"
  /// Where the state is kept.
  package var store = StoreURL.rocksdb(path: "/var/lib/ruled")
  /// When a reply may leave.
  package var durability = Durability.commit
  /// Worker threads; 0 is one for each processor.
  package var workers = 0
  /// Who may administer beside root and the daemon's own user: names of users, and of groups after `@`.
  package var admins: [String] = []
  /// The loopback listener.
  package var http = HTTP()
  /// The bounds that may be set.
  package var limits = Bounds()
  /// How long an outcome is remembered, in microseconds.
  package var dedupWindow = Limits.dedupWindow
  /// What is set for plugins, by name.
  package var plugins: [String: Plugin] = [:]
  /// What is set for sinks, by name.
  package var sinks: [String: Sink] = [:]

  /// The defaults.
  package init() {}

  /// The listener that speaks HTTP alone and wants a bearer token.
  package struct HTTP: Sendable, Equatable {
    /// Where to listen; nil is off.
    package var listen: ListenAddress?
    /// The file that holds the token; there whenever `listen` is.
    package var tokenFile: String?
    /// What the token's holder may call.
    package var role = Role.reader
  }

  /// The limits that the configuration may change.
  package struct Bounds: Sendable, Equatable {
    /// The longest request in bytes, without its newline.
    package var requestBytes = Limits.requestBytes
    /// Open connections.
    package var connections = Limits.connections
    /// Requests in flight in the whole daemon.
    package var inFlight = Limits.inFlight
    /// One plugin's encoded state for one subject, in KiB.
    package var stateKiB = Limits.stateKiB
    /// One plugin's series of counters.
    package var counters = Limits.counters
    /// The cache of hot subjects, in MiB.
    package var cacheMiB = Limits.cacheMiB
  }

  /// What is set for one plugin.
  package struct Plugin: Sendable, Equatable {
    /// Whether it is loaded.
    package var isEnabled = true
    /// What overrides the plugin's own settings, key by key.
    package var settings = JSONObject()

    /// A plugin that is loaded, unless it says otherwise, with its own settings but for these.
    package init(isEnabled: Bool = true, settings: JSONObject = JSONObject()) {
      self.isEnabled = isEnabled
      self.settings = settings
    }
  }

  /// How one sink delivers; one of `url`, `file` and `log` at most.
  package struct Sink: Sendable, Equatable {
    /// Where effects are posted.
    package var url: String?
    /// The file that holds the secret sent along.
    package var secretFile: String?
    /// The file that effects are appended to, one JSON line each.
    package var file: String?
    /// Whether effects are written to the log.
    package var log = false
  }
}
