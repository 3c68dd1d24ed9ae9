extension Configuration {
  /// The configuration in the value that the configuration file results in, or all that is wrong with it.
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
    section.text("durability", expected: "\"commit\", \"interval\" or \"primary\"", Durability.init).map {
      durability = $0
    }
    section.section("cluster") { cluster.read($0) }
    if let problem = storeProblem, section.errors.isEmpty { section.note([problem.key], problem.message) }
    section.integer("workers", 0...1_024).map { workers = $0 }
    section.read("admins", expected: "an array of users and @groups", Self.names).map { admins = $0 }
    section.read("couriers", expected: "an array of users and @groups", Self.names).map { couriers = $0 }
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
    }
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
    section.text("listen", expected: address, ListenAddress.init).map { listen = $0 }
    section.text("sites", expected: address, ListenAddress.init).map { sites = $0 }
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
    _ = section.boolean("share")  // has no effect; configurations of earlier versions may have it
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
  fileprivate mutating func read(_ section: ConfigurationSection) {
    section.integer("request_bytes", 1...(1 << 30)).map { requestBytes = $0 }
    section.integer("connections", 1...1_000_000).map { connections = $0 }
    section.integer("in_flight", 1...100_000_000).map { inFlight = $0 }
    section.integer("reserved", 0...1_000_000).map { reserved = $0 }
    section.integer("idle_s", 1...86_400).map { idleSeconds = $0 }
    section.integer("state_kib", 1...65_536).map { stateKiB = $0 }
    section.integer("counters", 1...100_000_000).map { counters = $0 }
    section.number("timer_step", 0.001...86_400).map { timerStep = Int64($0 * 1e6) }
    section.integer("cache_mib", 0...(1 << 20)).map { cacheMiB = $0 }
    section.integer("shadow_s", 1...86_400).map { shadowSeconds = $0 }
    section.finish()
  }
}

extension Configuration.Journal {
  fileprivate mutating func read(_ section: ConfigurationSection) {
    section.text("keep", expected: "a duration such as \"7d\", or \"0\" for no journal") {
      $0 == "0" ? 0 : DurationText.parse($0, allowsZero: true)
    }.map { keep = $0 }
    section.read("max_gib", expected: "a number above 0, at most \(1 << 20)") { value in
      value.doubleValue.flatMap { $0 > 0 && $0 <= Double(1 << 20) ? $0 : nil }
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
    lease = section.boolean("lease") ?? false
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

/// Reads one table of the configuration key by key, and notes what is wrong in it.
///
/// A key is known once it was asked for; `finish` reports the others.
final class ConfigurationSection {
  private let path: [String]
  private let members: JSONObject
  private var known: [String] = []
  /// What was found wrong so far.
  private(set) var errors: [ConfigurationError] = []

  /// The table that `value` should be.
  init(_ value: JSONValue, path: [String]) {
    self.path = path
    members = value.objectValue ?? [:]
    if value.objectValue == nil { note([], "expected a table, not \(value.shown)") }
  }

  /// The names that the table has, for tables whose keys are free.
  var names: [String] { members.names }

  /// Notes an error at a path below this table.
  func note(_ key: [String], _ message: String) { errors.append(ConfigurationError(path: path + key, message)) }

  /// The value of a key as `convert` makes it, or nil when it is absent, or not as expected, which is noted.
  func read<Value>(_ key: String, expected: String, _ convert: (JSONValue) -> Value?) -> Value? {
    known.append(key)
    guard let value = members[key] else { return nil }
    let converted = convert(value)
    if converted == nil { note([key], "expected \(expected), not \(value.shown)") }
    return converted
  }

  /// A number within a range.
  func number(_ key: String, _ range: ClosedRange<Double>) -> Double? {
    read(key, expected: "a number from \(range.lowerBound) to \(Int(range.upperBound))") { value in
      value.doubleValue.flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// An integer within a range; a float that is whole counts too.
  func integer(_ key: String, _ range: ClosedRange<Int>) -> Int? {
    read(key, expected: "an integer from \(range.lowerBound) to \(range.upperBound)") { value in
      let integer: Int? =
        switch value {
        case .integer(let value): Int(value)
        case .number(let value): Int(exactly: value)
        default: nil
        }
      return integer.flatMap { range.contains($0) ? $0 : nil }
    }
  }

  func boolean(_ key: String) -> Bool? { read(key, expected: "true or false", \.boolValue) }

  /// The path of a file or folder.
  func path(_ key: String, longest: Int = 4_095) -> String? {
    read(key, expected: "a path of 1 to \(longest) bytes") { value in
      value.stringValue.flatMap { (1...longest).contains($0.utf8.count) && !$0.utf8.contains(0) ? $0 : nil }
    }
  }

  /// What `parse` makes of a string.
  func text<Value>(_ key: String, expected: String, _ parse: (String) -> Value?) -> Value? {
    read(key, expected: expected) { $0.stringValue.flatMap(parse) }
  }

  /// A table within this one; absent ones are not read.
  func section(_ key: String, _ body: (ConfigurationSection) -> Void) {
    known.append(key)
    guard let value = members[key] else { return }
    let section = ConfigurationSection(value, path: path + [key])
    body(section)
    errors += section.errors
  }

  /// The members whose keys were not asked for.
  var remaining: JSONObject { JSONObject(members.filter { !known.contains($0.name) }) }

  /// Notes each key that was not asked for, and the known one that was probably meant.
  func finish() {
    for name in remaining.names {
      let all = "known are \(known.joined(separator: ", "))"
      note([name], "unknown key" + NearestName.hint(name, in: known, otherwise: all) { "\"\($0)\"" })
    }
  }
}

extension JSONValue {
  /// The value as an error shows it: a long string in part, and one that may hold a secret not at all.
  fileprivate var shown: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let text): text.mayHoldSecret ? "this string" : text.shortened.debugDescription
    case .array: "an array"
    case .object: "a table"
    }
  }
}

extension String {
  /// Whether it may hold a password or a token: it looks like a URL, an address with a user, or a list of settings.
  fileprivate var mayHoldSecret: Bool { contains("//") || contains("=") || dropFirst().contains("@") }

  /// Its first 40 characters, with a mark if there are more.
  fileprivate var shortened: String { count > 40 ? "\(prefix(40))…" : self }
}

/// One thing that is wrong in the configuration.
package struct ConfigurationError: Sendable, Equatable, CustomStringConvertible {
  /// The key's path from the top, as in `["limits", "connections"]`.
  package var path: [String]
  /// What is wrong and what was expected, without the path.
  package var message: String

  /// An error at a path.
  package init(path: [String], _ message: String) {
    self.path = path
    self.message = message
  }

  /// The path and the message.
  package var description: String { path.isEmpty ? message : "\(path.joined(separator: ".")): \(message)" }
}

/// All that is wrong in a configuration, in the order of its keys.
package struct ConfigurationErrors: Error, Sendable, Equatable {
  /// The errors; one or more.
  package var errors: [ConfigurationError]

  package init(_ errors: [ConfigurationError]) { self.errors = errors }
}
