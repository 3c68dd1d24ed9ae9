/// The values of the configuration file; every key has a default.
package struct Configuration: Sendable, Equatable {
  package var socket = "/run/ruled/ruled.sock"
  package var rules = "/etc/ruled/rules"
  package var store = StoreURL.rocksdb(path: "/var/lib/ruled")
  package var durability = Durability.commit
  /// The node of a cluster that the daemon is; for a store in PostgreSQL.
  package var cluster = Cluster()
  /// Worker threads; 0 is one for each processor.
  package var workers = 0
  /// The administrators beside root and the daemon's own user: names of users, and of groups after `@`.
  package var admins: [String] = []
  /// The clients that may lease effects beside the administrators: names of users, and of groups after `@`.
  package var couriers: [String] = []
  package var delivery = DeliveryProcess.daemon
  package var http = HTTP()
  package var limits = Bounds()
  /// How long an outcome is remembered, in microseconds.
  package var dedupWindow = Limits.dedupWindow
  package var journal = Journal()
  package var metrics = Metrics()
  package var plugins: [String: Plugin] = [:]
  package var sinks: [String: Sink] = [:]

  /// The file that it was read from; nil if it is none.
  package var file: String?

  package init() {}

  /// The listener that speaks HTTP alone and wants a bearer token.
  package struct HTTP: Sendable, Equatable {
    /// Where to listen; nil is off.
    package var listen: ListenAddress?
    /// The file that holds the token; there whenever `listen` is.
    package var tokenFile: String?
    /// The role of the token's holder.
    package var role = Role.reader
    /// Where to listen for the plugins' sites, which need no token; nil is off.
    package var sites: ListenAddress?
  }

  package struct Bounds: Sendable, Equatable {
    /// The longest request in bytes, without its newline.
    package var requestBytes = Limits.requestBytes
    package var connections = Limits.connections
    /// Requests in flight in the whole daemon.
    package var inFlight = Limits.inFlight
    /// How many of both are for administrators and probes alone; at most half of them.
    var reserved = Limits.reserved
    /// After how many seconds without a request a connection may be closed for another one.
    package var idleSeconds = Limits.idleSeconds
    /// One plugin's encoded state for one subject, in KiB.
    package var stateKiB = Limits.stateKiB
    /// One plugin's series of counters.
    package var counters = Limits.counters
    /// The least time between a timer and the next one that its event sets, in microseconds.
    package var timerStep = Limits.timerStep
    /// The cache of hot subjects, in MiB.
    package var cacheMiB = Limits.cacheMiB
    /// A shadow that is so many seconds behind skips subjects.
    package var shadowSeconds = Limits.shadowSeconds

    /// How many of `limit` connections or requests in flight are for everybody.
    package func unreserved(of limit: Int) -> Int { limit - min(reserved, limit / 2) }
  }

  package struct Cluster: Sendable, Equatable {
    /// The node's name, which no other node has; empty outside of a cluster.
    package var node = ""
    /// Where its clients reach it, as other nodes tell theirs.
    package var address = ""
    /// The folder of the node's own store.
    var folder = "/var/lib/ruled"
    /// How long the node's lease runs, in microseconds.
    package var lease: Int64 = 5_000_000
    /// Where the cluster's snapshots are, which all nodes reach; nil for none.
    package var snapshots: SnapshotLocation?
    /// How often a snapshot is made, in microseconds.
    package var snapshotEvery: Int64 = 3_600_000_000
    /// The connections between nodes, which forward clients' requests to the owner; nil if the node neither takes nor forwards any.
    package var tunnel: Tunnel?
  }

  /// The node's own end of the connections between nodes.
  package struct Tunnel: Sendable, Equatable {
    /// Where the node listens, as the other nodes reach it.
    package var listen: NodeAddress
    /// The PEM file of the node's certificate, which has the node's name among its alternative names.
    package var certificate: String
    /// The PEM file of the certificate's key.
    package var key: String
    /// The PEM file of the authority that all nodes' certificates come from.
    package var authority: String
  }

  /// The folder of the store on this host; nil if it is in memory.
  package var storeFolder: String? {
    switch store {
    case .memory: nil
    case .rocksdb(let path): path
    case .postgresql: cluster.folder
    }
  }

  /// A setting that does not fit the store, by its key; nil if all fit.
  package var storeProblem: (key: String, message: String)? {
    guard case .postgresql = store else {
      let belongs = "belongs to a store in PostgreSQL, as in \"postgresql://…\""
      if !cluster.node.isEmpty { return ("cluster", belongs) }
      let isOfCluster = durability == .primary || durability == .provider
      return isOfCluster ? ("durability", "\"\(durability.rawValue)\" belongs to a store in PostgreSQL") : nil
    }
    if cluster.node.isEmpty {
      return ("cluster", "needed with a store in PostgreSQL: { node = \"a name of this node's own\" }")
    }
    return durability == .interval
      ? ("durability", "a store in PostgreSQL has \"commit\", \"provider\" or \"primary\"") : nil
  }

  package struct Journal: Sendable, Equatable {
    /// How long entries are kept, in microseconds; 0 turns the journal off.
    package var keep: Int64 = 7 * 86_400_000_000
    package var maxBytes = 4 << 30
    /// How often a copy of the store is made to replay from, in microseconds.
    package var snapshot: Int64 = 86_400_000_000
    /// The paths in the data of events whose values are replaced with digests, names with dots between.
    package var redact: [String] = []

    package init() {}

    package var isOn: Bool { keep > 0 }
  }

  /// The counters of rules among the metrics.
  package struct Metrics: Sendable, Equatable {
    /// The prefixes of the names of the counters that are shown; none by default.
    package var counters: [String] = []
    /// How many of these counters are shown at most, each name with labels counted.
    package var series = Limits.metricSeries
  }

  package struct Plugin: Sendable, Equatable {
    package var isEnabled = true
    /// The sources whose events it sees; nil for those that the plugin names itself.
    package var sources: [String]?
    /// The settings that override the plugin's own, key by key at every depth.
    package var settings = JSONObject()

    /// A plugin that is loaded, unless it says otherwise, with its own sources and settings but for these.
    package init(isEnabled: Bool = true, sources: [String]? = nil, settings: JSONObject = JSONObject()) {
      self.isEnabled = isEnabled
      self.sources = sources
      self.settings = settings
    }
  }

  /// How one sink delivers; one of `url`, `file`, `log` and `lease` at most.
  package struct Sink: Sendable, Equatable {
    /// Where effects are posted.
    package var url: String?
    /// The file that holds the secret sent along.
    package var secretFile: String?
    /// The file with the client's certificate and its key, in PEM.
    package var certificateFile: String?
    /// The file with the authorities that the receiver's certificate is checked against, in PEM; nil for the system's.
    package var authoritiesFile: String?
    /// The file that effects are appended to, one JSON line each.
    package var file: String?
    package var log = false
    /// Whether effects are handed out to clients that lease them.
    package var lease = false
    /// Whether effects leave without their subject; nil if that is up to the rules.
    package var anonymous: Bool?
  }
}

/// When a reply may leave.
package enum Durability: String, Sendable, CaseIterable {
  /// After the commit is on disk; with a store in PostgreSQL also on the disks of the standbys that it waits for.
  case commit
  /// After the commit is on the disk of the primary, whose storage the operator promises to replicate; with a store in PostgreSQL alone.
  case provider
  /// After the commit is on the disk of the primary; with a store in PostgreSQL alone.
  case primary
  /// After the commit is applied; the disk follows each `Limits.syncInterval`.
  case interval
}

/// Which process sends effects to sinks with a URL.
package enum DeliveryProcess: String, Sendable, CaseIterable {
  case daemon
  /// `ruled-courier`: the daemon opens no network socket.
  case courier
}
