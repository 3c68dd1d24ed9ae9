extension Configuration {
  /// The configuration that a tree states, as the configuration file leaves it behind, or all that is wrong in it.
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
    section.text("store", expected: "\"rocksdb:/path\" or \"memory:\"", StoreURL.init).map { store = $0 }
    section.text("durability", expected: "\"commit\" or \"interval\"", Durability.init).map { durability = $0 }
    section.integer("workers", 0...1_024).map { workers = $0 }
    section.read("admins", expected: "an array of users and @groups", Self.names).map { admins = $0 }
    section.section("http") { http.read($0) }
    section.section("limits") { limits.read($0) }
    section.section("dedup") { dedup in
      dedup.text("window", expected: "a duration such as \"48h\"", DurationText.parse).map { dedupWindow = $0 }
      dedup.finish()
    }
    section.section("plugins") { table in
      for name in table.names { table.section(name) { plugins[name] = Plugin($0) } }
    }
    section.section("sinks") { table in
      for name in table.names { table.section(name) { sinks[name] = Sink($0) } }
    }
  }

  /// An array of names; Lua's empty table reads as an object without members.
  private static func names(_ value: JSONValue) -> [String]? {
    if value.objectValue?.isEmpty == true { return [] }
    let names = value.arrayValue?.map { $0.stringValue ?? "" }
    return names.flatMap { $0.allSatisfy { !$0.isEmpty && $0 != "@" } ? $0 : nil }
  }
}

extension Configuration.HTTP {
  fileprivate mutating func read(_ section: ConfigurationSection) {
    let address = "a loopback address and port such as \"127.0.0.1:8787\""
    section.text("listen", expected: address, ListenAddress.init).map { listen = $0 }
    section.path("token_file").map { tokenFile = $0 }
    section.text("role", expected: "\"reader\", \"writer\" or \"admin\"", Role.init).map { role = $0 }
    if listen != nil, tokenFile == nil {
      section.note(["token_file"], "needed with listen: the file of the bearer token")
    }
    section.finish()
  }
}

extension Configuration.Bounds {
  fileprivate mutating func read(_ section: ConfigurationSection) {
    section.integer("request_bytes", 1...(1 << 30)).map { requestBytes = $0 }
    section.integer("connections", 1...1_000_000).map { connections = $0 }
    section.integer("in_flight", 1...100_000_000).map { inFlight = $0 }
    section.integer("state_kib", 1...65_536).map { stateKiB = $0 }
    section.integer("counters", 1...100_000_000).map { counters = $0 }
    section.integer("cache_mib", 0...(1 << 20)).map { cacheMiB = $0 }
    section.finish()
  }
}

extension Configuration.Plugin {
  fileprivate init(_ section: ConfigurationSection) {
    isEnabled = section.boolean("enabled") ?? true
    settings = section.remaining
  }
}

extension Configuration.Sink {
  fileprivate init(_ section: ConfigurationSection) {
    url = section.text("url", expected: "an http or https URL") { text in
      let scheme = (try? URLText.parse(text))?.scheme
      return scheme == "http" || scheme == "https" ? text : nil
    }
    secretFile = section.path("secret_file")
    file = section.path("file")
    log = section.boolean("log") ?? false
    if [url != nil, file != nil, log].count(where: { $0 }) > 1 { section.note([], "only one of url, file and log") }
    section.finish()
  }
}
