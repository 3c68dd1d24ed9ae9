extension Configuration {
  /// The keys of a configuration.
  package static let keys = {
    var configuration = Configuration()
    let section = ConfigurationSection([:], path: [])
    configuration.read(section)
    return section.known
  }()

  package static func decode(_ value: JSONValue) -> Result<Configuration, ConfigurationErrors> {
    var configuration = Configuration()
    let section = ConfigurationSection(value, path: [])
    configuration.read(section)
    section.finish()
    return section.errors.isEmpty ? .success(configuration) : .failure(ConfigurationErrors(section.errors))
  }

  private mutating func read(_ section: ConfigurationSection) {
    section.path("socket", longest: 107).map { socket = $0 }
    section.path("rules").map { rules = $0 }
    section.text("store", expected: "\"rocksdb:/path\", \"memory:\" or \"postgresql://…\"", StoreURL.init).map {
      store = $0
    }
    section.text("durability", expected: "\"commit\", \"interval\", \"provider\" or \"primary\"", Durability.init).map {
      durability = $0
    }
    section.section("cluster") { cluster.read($0) }
    if let problem = storeProblem, section.errors.isEmpty { section.note([problem.key], problem.message) }
    section.integer("workers", 0...1_024).map { workers = $0 }
    section.read("admins", expected: "an array of users and @groups", Self.accounts).map { admins = $0 }
    section.read("couriers", expected: "an array of users and @groups", Self.accounts).map { couriers = $0 }
    section.text("delivery", expected: "\"daemon\" or \"courier\"", DeliveryProcess.init).map { delivery = $0 }
    section.section("http") { http.read($0) }
    section.section("limits") { limits.read($0) }
    section.section("dedup") { dedup in
      dedup.text("window", expected: "a duration such as \"48h\"", DurationText.parse).map { dedupWindow = $0 }
      dedup.finish()
    }
    section.section("journal") { journal.read($0) }
    section.section("metrics") { metrics.read($0) }
    section.section("plugins") { table in
      for name in table.names { table.section(name) { plugins[name] = Plugin($0) } }
    }
    section.section("sinks") { table in
      for name in table.names { table.section(name) { sinks[name] = Sink($0) } }
      if sinks["client"] != nil {
        table.note(["client"], "takes no settings: its effects are in the answers to events")
      }
    }
  }

  /// An array of names and numbers of users and groups.
  private static func accounts(_ value: JSONValue) -> [String]? {
    guard let array = value.arrayValue else { return names(value) }
    return names(.array(array.map { account in account.intValue.map { .string(String($0)) } ?? account }))
  }

  /// An array of names; Lua's empty table reads as an object without members.
  fileprivate static func names(_ value: JSONValue) -> [String]? {
    if value.objectValue?.isEmpty == true { return [] }
    let names = value.arrayValue?.map { $0.stringValue ?? "" }
    return names.flatMap { $0.allSatisfy { !$0.isEmpty && $0 != "@" } ? $0 : nil }
  }
}

extension Configuration.HTTP {
  fileprivate mutating func read(_ section: ConfigurationSection) {
    let address = "a loopback address and port such as \"127.0.0.1:8787\""
    let parse = { (text: String) in ListenAddress(text).flatMap { $0.port > 0 ? $0 : nil } }
    section.text("listen", expected: address, parse).map { listen = $0 }
    section.text("sites", expected: address, parse).map { sites = $0 }
    section.path("token_file").map { tokenFile = $0 }
    section.text("role", expected: "\"reader\", \"writer\" or \"admin\"", Role.init).map { role = $0 }
    if listen != nil, tokenFile == nil {
      section.note(["token_file"], "needed with listen: the file of the bearer token")
    }
    section.finish()
  }
}

extension Configuration.Cluster {
  fileprivate mutating func read(_ section: ConfigurationSection) {
    section.text("node", expected: "the node's name") { $0.isEmpty ? nil : $0 }.map { node = $0 }
    section.text("address", expected: "where clients reach the node") { $0 }.map { address = $0 }
    section.path("folder").map { folder = $0 }
    section.text("lease", expected: "a duration from \"1s\" to \"5m\"") { text in
      DurationText.parse(text).flatMap { (1_000_000...300_000_000).contains($0) ? $0 : nil }
    }.map { lease = $0 }
    snapshots = SnapshotLocation(section)
    section.text("snapshot_every", expected: "a duration from \"1s\" on, such as \"1h\"") { text in
      DurationText.parse(text).flatMap { $0 >= 1_000_000 ? $0 : nil }
    }.map { snapshotEvery = $0 }
    if node.isEmpty { section.note(["node"], "needed: a name that no other node has") }
    readTunnel(section)
    section.finish()
  }

  /// Reads the four keys that belong together.
  private mutating func readTunnel(_ section: ConfigurationSection) {
    let keys = ["listen", "certificate", "key", "authority"]
    let given = section.names.filter { keys.contains($0) }
    let listen = section.text("listen", expected: "an address that other nodes reach, like \"10.0.0.5:7433\"") { text in
      NodeAddress(text).flatMap { $0.isReachable ? $0 : nil }
    }
    let files = keys.dropFirst().map { section.path($0) }
    if let first = given.first {
      for key in keys where !given.contains(key) {
        section.note([key], "needed with \(first): listen, certificate, key and authority belong together")
      }
    }
    guard let listen, let certificate = files[0], let key = files[1], let authority = files[2] else { return }
    tunnel = Configuration.Tunnel(listen: listen, certificate: certificate, key: key, authority: authority)
  }
}

extension Configuration.Bounds {
  /// The limits that are whole numbers, by their keys in the file.
  package static let integers:
    [(key: String, range: ClosedRange<Int>, limit: any WritableKeyPath<Self, Int> & Sendable)] = [
      ("request_bytes", 1...(1 << 30), \.requestBytes), ("connections", 1...1_000_000, \.connections),
      ("in_flight", 1...100_000_000, \.inFlight), ("reserved", 0...1_000_000, \.reserved),
      ("idle_s", 1...86_400, \.idleSeconds), ("state_kib", 1...65_536, \.stateKiB),
      ("counters", 1...100_000_000, \.counters), ("cache_mib", 0...(1 << 20), \.cacheMiB),
      ("shadow_s", 1...86_400, \.shadowSeconds),
    ]

  fileprivate mutating func read(_ section: ConfigurationSection) {
    for (key, range, limit) in Self.integers { section.integer(key, range).map { self[keyPath: limit] = $0 } }
    section.number("timer_step", 0.001...86_400).map { timerStep = Int64($0 * 1e6) }
    section.finish()
  }
}

extension Configuration.Journal {
  fileprivate mutating func read(_ section: ConfigurationSection) {
    section.text("keep", expected: "a duration such as \"7d\", or \"0\" for no journal") {
      $0 == "0" ? 0 : DurationText.parse($0, allowsZero: true)
    }.map { keep = $0 }
    // Eight files of the least size, as a file that is larger than what may be kept is removed at once.
    let sizes = 0.002...Double(1 << 20)
    section.read("max_gib", expected: "a number from 0.002 to \(1 << 20), or keep = \"0\" for no journal") { value in
      value.doubleValue.flatMap { sizes.contains($0) ? $0 : nil }
    }.map { maxBytes = Int($0 * Double(1 << 30)) }
    if isOn { snapshot = min(snapshot, keep) }
    section.text("snapshot", expected: "a duration such as \"1d\"", DurationText.parse).map { snapshot = $0 }
    if isOn, snapshot > keep {
      section.note(
        ["keep"],
        "shorter than journal.snapshot, so entries would be removed before there is a snapshot to replay them from; "
          + "raise keep, or lower snapshot")
    }
    section.read("redact", expected: "an array of paths in the data of events, such as \"profile.phone\"") { value in
      Configuration.names(value).flatMap { names in
        names.allSatisfy { !$0.hasPrefix(".") && !$0.hasSuffix(".") && !$0.contains("..") } ? names : nil
      }
    }.map { redact = $0 }
    if let path = redact.first(where: { $0.contains { "*?[]$".contains($0) } }) {
      section.note(
        ["redact"],
        "has '\(path)', but a path is made of names and dots, without wildcards and indexes: 'user' replaces all that user "
          + "has, 'user.email' that member of it, and of each element if user is an array")
    }
    section.finish()
  }
}

extension Configuration.Metrics {
  fileprivate mutating func read(_ section: ConfigurationSection) {
    section.read("counters", expected: "an array of beginnings of names", Configuration.names).map { counters = $0 }
    section.integer("series", 1...1_000_000).map { series = $0 }
    section.finish()
  }
}

extension Configuration.Plugin {
  fileprivate init(_ section: ConfigurationSection) {
    isEnabled = section.boolean("enabled") ?? true
    sources = section.read("sources", expected: "an array of sources", Configuration.names)
    settings = section.remaining
  }
}

extension Configuration.Sink {
  fileprivate init(_ section: ConfigurationSection) {
    url = section.text("url", expected: "an http or https URL") { WebURL($0) == nil ? nil : $0 }
    secretFile = section.path("secret_file")
    file = section.path("file")
    log = section.boolean("log") ?? false
    lease = section.boolean("lease") ?? false
    anonymous = section.boolean("anonymous")
    certificateFile = section.path("cert")
    authoritiesFile = section.path("ca")
    if [url != nil, file != nil, log, lease].count(where: { $0 }) > 1 {
      section.note([], "only one of url, file, log and lease")
    }
    if url?.lowercased().hasPrefix("https:") != true {
      for (key, path) in [("cert", certificateFile), ("ca", authoritiesFile)] where path != nil {
        section.note([key], "belongs to an https URL")
      }
    }
    section.finish()
  }
}
