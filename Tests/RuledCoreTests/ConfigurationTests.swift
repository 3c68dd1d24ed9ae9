import RuledJSON
import Testing

@testable import RuledCore

@Suite struct ConfigurationTests {
  private func errors(_ text: String) throws -> [String] {
    switch Configuration.decode(try JSONValue(parsing: text)) {
    case .success: []
    case .failure(let found): found.errors.map(\.description)
    }
  }

  @Test func `An empty configuration is the defaults`() throws {
    let configuration = try Configuration.decode([:]).get()
    #expect(configuration == Configuration())
    #expect(configuration.socket == "/run/ruled/ruled.sock")
    #expect(configuration.store == .rocksdb(path: "/var/lib/ruled"))
    #expect(configuration.durability == .commit)
    #expect(configuration.dedupWindow == 172_800_000_000)
    #expect(configuration.limits.requestBytes == 1_048_576)
    #expect(configuration.http.listen == nil)
  }

  @Test func `Every documented key is read`() throws {
    let text = """
      {"socket":"/tmp/s","rules":"/tmp/r","store":"memory:","durability":"interval","workers":2.0,"admins":["root","@ops",1001],
      "http":{"listen":"127.0.0.1:8787","token_file":"/etc/token","role":"writer","sites":"[::1]:8788"},
      "limits":{"request_bytes":1000,"connections":2,"in_flight":3,"reserved":1,"idle_s":6,"state_kib":4,"cache_mib":0,"shadow_s":5,"timer_step":0.5},
      "dedup":{"window":"1h"},
      "metrics":{"counters":["game."],"series":7},
      "plugins":{"attribution":{"pixel_id":"123","reprompt_days":14},"deeplinks":{"enabled":false,"sources":["web"]}},
      "sinks":{"conversions":{"url":"https://x/y","secret_file":"/s"},"analytics":{"file":"/a"},"rejected":{"log":true}}}
      """
    let configuration = try Configuration.decode(JSONValue(parsing: text)).get()
    var expected = Configuration()
    expected.socket = "/tmp/s"
    expected.rules = "/tmp/r"
    expected.store = .memory
    expected.durability = .interval
    expected.workers = 2
    expected.admins = ["root", "@ops", "1001"]
    expected.http = .init(
      listen: ListenAddress("127.0.0.1:8787"), tokenFile: "/etc/token", role: .writer,
      sites: ListenAddress("[::1]:8788"))
    expected.limits = .init(
      requestBytes: 1_000, connections: 2, inFlight: 3, reserved: 1, idleSeconds: 6, stateKiB: 4, timerStep: 500_000,
      cacheMiB: 0, shadowSeconds: 5)
    expected.dedupWindow = 3_600_000_000
    expected.metrics = .init(counters: ["game."], series: 7)
    expected.plugins["attribution"] = .init(settings: ["pixel_id": "123", "reprompt_days": 14])
    expected.plugins["deeplinks"] = .init(isEnabled: false, sources: ["web"])
    expected.sinks["conversions"] = .init(url: "https://x/y", secretFile: "/s")
    expected.sinks["analytics"] = .init(file: "/a")
    expected.sinks["rejected"] = .init(log: true)
    #expect(configuration == expected)
  }

  @Test func `A node of a cluster has a store on its host too`() throws {
    let text = """
      {"store":"postgresql://ruled@db1,db2/ruled","durability":"primary",
      "cluster":{"node":"a","address":"a:1","folder":"/x","lease":"2s"}}
      """
    let configuration = try Configuration.decode(JSONValue(parsing: text)).get()
    #expect(configuration.store == .postgresql(url: "postgresql://ruled@db1,db2/ruled"))
    #expect(configuration.durability == .primary)
    #expect(configuration.storeFolder == "/x")
    #expect(configuration.cluster.lease == 2_000_000)
    #expect(configuration.storeProblem == nil)
    #expect(configuration.cluster.tunnel == nil)
  }

  @Test(arguments: [
    (#""snapshots":"/srv/x""#, SnapshotLocation.folder("/srv/x")),
    (
      #""snapshots":"s3://b-1/of/ours/","s3":{"region":"eu-central-1","credentials_file":"/c"}"#,
      .bucket(
        ObjectBucket(
          name: "b-1", prefix: "of/ours", endpoint: "https://s3.eu-central-1.amazonaws.com", region: "eu-central-1",
          credentialsFile: "/c"))
    ),
    (
      #""snapshots":"s3://bucket","s3":{"endpoint":"https://minio:9000/","authority":"/a"}"#,
      .bucket(
        ObjectBucket(
          name: "bucket", prefix: "", endpoint: "https://minio:9000", region: "us-east-1", authority: "/a"))
    ),
  ])
  func `Snapshots are in a folder or in an object store`(keys: String, expected: SnapshotLocation) throws {
    let text = #"{"store":"postgresql://db/x","cluster":{"node":"a",\#(keys)}}"#
    #expect(try Configuration.decode(JSONValue(parsing: text)).get().cluster.snapshots == expected)
  }

  @Test(arguments: [
    (#""snapshots":"s3://b/x""#, "cluster.snapshots: expected a folder or \"s3://bucket/prefix\""),
    (#""snapshots":"s3://bucket/a b""#, "cluster.snapshots: expected a folder"),
    (#""snapshots":"s3://bucket/../x""#, "cluster.snapshots: expected a folder"),
    (#""snapshots":"gs://bucket/x","s3":{"region":"a"}"#, "cluster.snapshots: expected a folder"),
    (#""snapshots":"s3://bucket""#, "cluster.s3: needed with s3://…"),
    (#""snapshots":"s3://bucket","s3":{}"#, "cluster.s3.region: needed without endpoint"),
    (#""snapshots":"s3://bucket","s3":{"region":"a:b"}"#, "cluster.s3.region: expected a region"),
    (#""snapshots":"s3://bucket","s3":{"endpoint":"minio:9000"}"#, "cluster.s3.endpoint: expected the URL"),
    (#""snapshots":"s3://bucket","s3":{"endpoint":"https://a?b"}"#, "cluster.s3.endpoint: expected the URL"),
    (#""snapshots":"s3://bucket","s3":{"endpoint":"https://u:p@a"}"#, "cluster.s3.endpoint: expected the URL"),
    (
      #""snapshots":"s3://bucket","s3":{"endpoint":"http://a","authority":"/x"}"#,
      "cluster.s3.authority: belongs to an endpoint with https"
    ),
    (
      #""snapshots":"s3://bucket","s3":{"region":"a","endpiont":"https://a"}"#,
      "cluster.s3.endpiont: unknown key; did you mean \"endpoint\"?"
    ), (#""snapshots":"/x","s3":{"region":"a"}"#, "cluster.s3: belongs to snapshots in an object store"),
    (#""s3":{"region":"a"}"#, "cluster.s3: belongs to snapshots in an object store"),
  ])
  func `A mistake in the settings of an object store is named`(keys: String, message: String) throws {
    let text = #"{"store":"postgresql://db/x","cluster":{"node":"a",\#(keys)}}"#
    guard case .failure(let found) = Configuration.decode(try JSONValue(parsing: text)) else {
      Issue.record("\(keys) is accepted")
      return
    }
    #expect(found.errors.count == 1 && found.errors[0].description.hasPrefix(message), "\(found)")
  }

  @Test(arguments: ["10.0.0.5:7433", "db1:7433", "[fd00::5]:7433"])
  func `A node has an address that others reach, and a certificate that proves its name`(listen: String) throws {
    let text = """
      {"store":"postgresql://db/x","cluster":{"node":"a","listen":"\(listen)","certificate":"/c","key":"/k","authority":"/a"}}
      """
    let tunnel = try Configuration.decode(JSONValue(parsing: text)).get().cluster.tunnel
    #expect(tunnel?.listen.description == listen)
    #expect(tunnel?.certificate == "/c" && tunnel?.key == "/k" && tunnel?.authority == "/a")
  }

  @Test(arguments: [
    (#"{"sokcet":"/x"}"#, #"sokcet: unknown key; did you mean "socket"?"#),
    (#"{"limits":{"timer_step":0}}"#, "limits.timer_step: expected a number from 0.001 to 86400, not 0"),
    (#"{"limits":{"conections":1}}"#, #"limits.conections: unknown key; did you mean "connections"?"#),
    (#"{"dedup":{"xyz":1}}"#, "dedup.xyz: unknown key; known are window"),
    (#"{"sinks":{"a":{"uri":"x"}}}"#, #"sinks.a.uri: unknown key; did you mean "url"?"#),
    (#"{"workers":"2"}"#, #"workers: expected an integer from 0 to 1024, not "2""#),
    (#"{"workers":2.5}"#, "workers: expected an integer from 0 to 1024, not 2.5"),
    (#"{"workers":-1}"#, "workers: expected an integer from 0 to 1024, not -1"),
    (#"{"workers":true}"#, "workers: expected an integer from 0 to 1024, not true"),
    (#"{"workers":{}}"#, "workers: expected an integer from 0 to 1024, not a table"),
    (#"{"store":"sqlite:/x"}"#, #"store: expected "rocksdb:/path", "memory:" or "postgresql://…", not "sqlite:/x""#),
    (
      #"{"store":"postgres:user:secret@db"}"#,
      #"store: expected "rocksdb:/path", "memory:" or "postgresql://…", not this string"#
    ),
    (
      #"{"store":"password=secret"}"#,
      #"store: expected "rocksdb:/path", "memory:" or "postgresql://…", not this string"#
    ),
    (
      #"{"delivery":"by a courier who comes to the door once a day"}"#,
      #"delivery: expected "daemon" or "courier", not "by a courier who comes to the door once …""#
    ),
    (
      #"{"store":"postgresql://db/x"}"#,
      #"cluster: needed with a store in PostgreSQL: { node = "a name of this node's own" }"#
    ),
    (
      #"{"store":"postgresql://db/x","cluster":{"node":"a"},"durability":"interval"}"#,
      #"durability: a store in PostgreSQL has "commit", "provider" or "primary""#
    ),
    (
      #"{"store":"postgresql://db/x","cluster":{"node":"a","share":true}}"#,
      "cluster.share: unknown key; known are node, address, folder, lease, snapshots, s3, snapshot_every, listen, certificate, key, authority"
    ), (#"{"cluster":{"node":"a"}}"#, #"cluster: belongs to a store in PostgreSQL, as in "postgresql://…""#),
    (#"{"durability":"primary"}"#, #"durability: "primary" belongs to a store in PostgreSQL"#),
    (#"{"durability":"provider"}"#, #"durability: "provider" belongs to a store in PostgreSQL"#),
    (
      #"{"store":"postgresql://db/x","cluster":{"node":"a","lease":"1ms"}}"#,
      #"cluster.lease: expected a duration from "1s" to "5m", not "1ms""#
    ),
    (
      #"{"store":"postgresql://db/x","cluster":{"node":"a","listen":"0.0.0.0:1","certificate":"/c","key":"/k","authority":"/a"}}"#,
      #"cluster.listen: expected an address that other nodes reach, like "10.0.0.5:7433", not "0.0.0.0:1""#
    ),
    (
      #"{"store":"postgresql://db/x","cluster":{"node":"a","listen":"fd00::5:1","certificate":"/c","key":"/k","authority":"/a"}}"#,
      #"cluster.listen: expected an address that other nodes reach, like "10.0.0.5:7433", not "fd00::5:1""#
    ),
    (
      #"{"store":"postgresql://db/x","cluster":{"node":"a","listen":"db1:1","certificate":"/c","authority":"/a"}}"#,
      "cluster.key: needed with listen: listen, certificate, key and authority belong together"
    ),
    (
      #"{"store":"postgresql://db/x","cluster":{"folder":"/x"}}"#,
      "cluster.node: needed: a name that no other node has"
    ),
    (#"{"dedup":{"window":48}}"#, #"dedup.window: expected a duration such as "48h", not 48"#),
    (#"{"admins":"root"}"#, #"admins: expected an array of users and @groups, not "root""#),
    (#"{"http":[]}"#, "http: expected a table, not an array"),
    (
      #"{"admins":["root",true]}"#,
      "admins: expected an array of users and @groups; one of its values is something else"
    ),
    ("[]", "expected a table, not an array"),
    (#"{"http":{"listen":"127.0.0.1:1"}}"#, "http.token_file: needed with listen: the file of the bearer token"),
    (
      #"{"http":{"sites":"127.0.0.1:0"}}"#,
      #"http.sites: expected a loopback address and port such as "127.0.0.1:8787", not "127.0.0.1:0""#
    ),
    (
      #"{"sinks":{"client":{"log":true}}}"#, "sinks.client: takes no settings: its effects are in the answers to events"
    ),
    (#"{"plugins":{"x":{"enabled":1}}}"#, "plugins.x.enabled: expected true or false, not 1"),
    (#"{"sinks":{"a":{"url":"https://x","file":"/y"}}}"#, "sinks.a: only one of url, file, log and lease"),
    (#"{"sinks":{"a":{"lease":true,"file":"/y"}}}"#, "sinks.a: only one of url, file, log and lease"),
    (#"{"sinks":{"a":{"url":"http://x","ca":"/y"}}}"#, "sinks.a.ca: belongs to an https URL"),
    (#"{"sinks":{"a":{"file":"/x","cert":"/y"}}}"#, "sinks.a.cert: belongs to an https URL"),
    (#"{"sinks":{"a":{"anonymous":"yes"}}}"#, #"sinks.a.anonymous: expected true or false, not "yes""#),
    (
      #"{"journal":{"max_gib":0.001}}"#,
      #"journal.max_gib: expected a number from 0.002 to 1048576, or keep = "0" for no journal, not 0.001"#
    ),
    (#"{"delivery":"post"}"#, #"delivery: expected "daemon" or "courier", not "post""#),
    (#"{"couriers":"@x"}"#, #"couriers: expected an array of users and @groups, not "@x""#),
    (#"{"sinks":{"a":{"url":"ftp://x"}}}"#, "sinks.a.url: expected an http or https URL, not this string"),
  ])
  func `A mistake is reported with its path`(text: String, message: String) throws {
    #expect(try errors(text) == [message])
  }

  @Test(arguments: ["user.*", "*", "people[1].name", "$.user"])
  func `A path to redact with a wildcard or an index is refused, with what to write`(path: String) throws {
    let refused = try errors(#"{"journal":{"redact":["email","\#(path)"]}}"#)
    #expect(refused.count == 1 && refused[0].hasPrefix("journal.redact: has '\(path)'"), "\(refused)")
    #expect(refused[0].contains("'user' replaces all that user has"))
  }

  @Test func `A journal is not kept for a shorter time than there is between its snapshots`() throws {
    let journal = try Configuration.decode(JSONValue(parsing: #"{"journal":{"keep":"1h"}}"#)).get().journal
    #expect(journal.snapshot == 3_600_000_000)
    let refused = try errors(#"{"journal":{"keep":"1h","snapshot":"1d"}}"#)
    #expect(refused.count == 1 && refused[0].hasPrefix("journal.keep: shorter than journal.snapshot"), "\(refused)")
    #expect(try errors(#"{"journal":{"keep":"0","snapshot":"1d"}}"#).isEmpty)
  }

  @Test func `All errors are told at once and an empty Lua table is an empty list`() throws {
    #expect(try errors(#"{"workers":true,"limits":{"x":1,"in_flight":0}}"#).count == 3)
    #expect(try errors(#"{"admins":{},"plugins":{},"sinks":{"a":{}}}"#).isEmpty)
  }

  @Test(arguments: [
    "0.0.0.0:80", "192.168.1.1:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "[::]:80", "::1:80", "127.0.1:80",
    "127.0.0.+1:80", "example.com:80", "127.0.0.1:+8", "127.0.0.0001:8", "127.0.0.01:8",
  ])
  func `Only loopback addresses are listened on`(text: String) { #expect(ListenAddress(text) == nil) }

  @Test func `Loopback addresses are read`() {
    #expect(ListenAddress("localhost:8787")?.text == "127.0.0.1:8787")
    #expect(ListenAddress("[::1]:0")?.text == "[::1]:0")
    #expect(StoreURL("rocksdb:") == nil)
    #expect(StoreURL("rocksdb:/var/lib/ruled") == .rocksdb(path: "/var/lib/ruled"))
    #expect(Role.reader < .writer && Role.writer < .admin)
  }
}
