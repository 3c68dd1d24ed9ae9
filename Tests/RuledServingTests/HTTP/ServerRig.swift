import Glibc
import IOTestSupport
import RuledCore
import RuledEngine
import RuledIO
import RuledJSON
import RuledLua
import RuledStore
import RuledThreads
import Synchronization
import TestSupport
import Testing

@testable import RuledServing

/// Workers, committer and HTTP server over a store, without the control thread; clients are connected by socket pairs.
final class ServerRig {
  let services: Services
  let commits: CommitPipeline
  let borrowable: [BorrowableWorker]
  let workers: RigWorkers
  let server: HTTPServer
  let log = RecordingLog()
  private var threads: [Thread] = []

  static let rules = """
    plugin { name = "p", version = "1" }
    rule "count" { on = "n", run = function(event, state)
      state.n = (state.n or 0) + 1
      decide("n", state.n)
    end }
    rule "tell" { on = "tell", run = function(event) count("p.told", { how = event.data.how }) end }
    rule "fail" { on = "boom", run = function() error("inside") end }
    rule "spin" { on = "spin", run = function() while true do end end }
    query "n" (function(state, args) return { n = state and state.n or 0, args = args } end)
    query "broken" (function() error("inside") end)
    web "site.example" (function(request)
      if request.path == "/boom" then error("inside") end
      if request.path == "/misspelt" then return { stauts = 404, body = "x" } end
      if request.path == "/bad" then return { status = 200, headers = { ["a b"] = "c" } } end
      return { status = 201, headers = { ["x-echo"] = request.query_string }, body = json.encode(request) }
    end)
    """

  /// Has the file of the token.
  let folder = TemporaryFolder()

  /// Starts the threads; `configure` changes the configuration first.
  init(
    store: any StateStore = MemoryStore(), token: String? = nil, rules: String = ServerRig.rules,
    clock: EngineClock = EngineClock(), inbox: MessageInbox.Settings = .init(),
    configure: (inout Configuration) -> Void = { _ in }
  ) throws {
    var configuration = Configuration()
    configure(&configuration)
    let context = EngineContext(store: store, clock: clock, configuration: configuration, log: log)
    if let token { folder.write("token", token) }
    let bearerToken = token == nil ? nil : try BearerToken(file: folder("token"))
    let services = Services(context: context, workers: 2, bearerToken: bearerToken)
    self.services = services
    let commits = CommitPipeline(
      context: context, hub: WatchHub(spare: context.changeLogs), workers: services.workers)
    self.commits = commits
    let borrowable = services.workers.map { _ in BorrowableWorker() }
    self.borrowable = borrowable
    let workers = RigWorkers(services)
    self.workers = workers
    let catalog = try Self.catalog(rules)
    services.status.serve(catalog)
    commits.hub.begin(after: try WatchSequence.last(in: context))
    commits.begin(with: try context.counters.load(from: context))
    threads.append(
      try Thread.start(name: "commit") {
        Committer(services: services, commits: commits).run()
      })
    for index in 0..<2 {
      threads.append(
        try Thread.start(name: "worker") {
          do throws(SystemError) {
            try workers.run(
              Worker(
                index: index, services: services, commits: commits, borrowable: borrowable, catalog: catalog,
                inbox: inbox))
          } catch {
            fatalError("\(error)")
          }
        })
    }
    server = try HTTPServer(services, commits)
  }

  static func catalog(_ rules: String = ServerRig.rules) throws -> Catalog {
    let source = RulesSource(plugins: [
      PluginSource(name: "p", modules: [SourceFile(path: "p/plugin.lua", text: Array(rules.utf8))])
    ])
    return try CatalogBuilder.build(
      source, configuration: [:], previous: nil, worker: LuaWorker(), now: EngineClock.wall)
  }

  /// The line of an event that adds 1 to the subject with that number.
  static func event(_ run: String, _ number: Int, subject: Int) -> String {
    #"{"jsonrpc":"2.0","id":\#(number),"method":"event","params":"#
      + #"{"type":"n","subject":"s\#(subject)","id":"\#(run)-\#(number)"}}"# + "\n"
  }

  /// The count of events of the subject with that number; the client must not wait for other replies.
  static func count(of subject: Int, _ client: Client) throws -> Int64? {
    client.send(
      #"{"jsonrpc":"2.0","id":1,"method":"query","params":{"subject":"s\#(subject)","name":"p.n"}}"# + "\n")
    return try JSONValue(parsing: client.receive(lines: 1))["result"]?["n"]?.intValue
  }

  /// A client of the Unix socket.
  func client() -> Client {
    let (client, server) = Client.pair()
    services.adopt(server)
    return client
  }

  /// A client of the loopback listener.
  func loopbackClient() throws -> Client {
    let address = try #require(ListenAddress("127.0.0.1:0"))
    let listener = try LoopbackSocket.listen(address)
    defer { close(listener) }
    var name = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let isConnected = withUnsafeMutablePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(listener, $0, &length) == 0 && connect(client, $0, length) == 0
      }
    }
    try #require(isConnected)
    server.accept(accept(listener, nil, nil), from: ClientAccess(.api))
    return Client(client)
  }

  func stop() {
    server.stop()
    for worker in services.workers { _ = worker.send(.stop) }
    commits.stop()
    for thread in threads { thread.join() }
    threads = []
  }
}

/// The workers of a rig, for what a test does on their threads.
final class RigWorkers: Sendable {
  private let services: Services
  private let confined: [Confined<Worker>]

  init(_ services: Services) {
    self.services = services
    confined = services.workers.map { _ in Confined() }
  }

  /// Runs a worker on the thread that has made it.
  func run(_ worker: Worker) throws(SystemError) {
    confined[worker.index].value = worker
    try worker.run()
    confined[worker.index].value = nil
  }

  /// Calls `body` on the thread of the worker with that index.
  func perform(on index: Int, _ body: @escaping @Sendable (Worker) -> Void) {
    let confined = confined[index]
    services.workers[index].send(.wake { if let worker = confined.value { body(worker) } })
  }
}

extension Services {
  /// Has the first worker take over a connected socket, as that of an administrator.
  func adopt(_ descriptor: Int32) {
    guard let permit = takePermit(permits, for: .user(0), isAdmin: true) else { fatalError("no permit") }
    _ = workers[0].send(.adopt(descriptor, with: permit, for: nil))
  }
}

/// A log that keeps its lines in memory.
final class RecordingLog: EventLog {
  private let written = Mutex<[LogLine]>([])
  /// Whether nobody reads it, and whether lines have come since.
  let isStuck = Atomic(false)
  private let hasUnread = Atomic(false)
  /// Whether it loses what is written.
  let isBroken = Atomic(false)
  private let lost = Atomic(0)

  func write(_ line: LogLine) {
    hasUnread.store(true, ordering: .relaxed)
    guard !isBroken.load(ordering: .relaxed) else { return _ = lost.wrappingAdd(1, ordering: .relaxed) }
    written.withLock { $0.append(line) }
  }

  var dropped: Int { lost.load(ordering: .relaxed) }

  func flush(within milliseconds: Int) -> Bool {
    guard !isStuck.load(ordering: .relaxed) else { return !hasUnread.load(ordering: .relaxed) }
    hasUnread.store(false, ordering: .relaxed)
    return true
  }

  var lines: [LogLine] { written.withLock { $0 } }

  /// All that was written, as text.
  var text: String { lines.map { "\($0)" }.joined(separator: "\n") }
}
