import Glibc
import IOTestSupport
import RuledDelivery
import RuledEngine
import RuledIO
import RuledJSON
import RuledLua
import RuledStore
import RuledThreads

@testable import RuledCore
@testable import RuledServing

/// The threads of a daemon that deliver effects: a worker, the committer and the outbox.
final class DeliveryRig {
  let log = RecordingLog()
  let store: any StateStore
  let services: Services
  let commits: CommitPipeline
  private let committer: Thread
  private let worker: Thread
  private var outbox: Thread?
  private let backoff: Backoff
  private let timeout: Int
  private let makeClient: @Sendable (EventLoop) throws(SystemError) -> RuledDelivery.HTTPClient

  /// Starts the threads over a store with sinks and the rules of a folder, or with one plugin `p` whose text is `plugin`.
  init(
    store: any StateStore = MemoryStore(), sinks: [String: Configuration.Sink], plugin: String = "",
    rules: RulesSource? = nil,
    settings: [String: Configuration.Plugin] = [:], clock: EngineClock = EngineClock(), retryAfter: UInt64 = 20,
    timeout: Int = 10_000, delivery: DeliveryProcess = .daemon, delivers: Bool = true,
    makeClient: @escaping @Sendable (EventLoop) throws(SystemError) -> RuledDelivery.HTTPClient = {
      loop throws(SystemError) in try RuledDelivery.HTTPClient(on: loop)
    }
  ) throws {
    self.makeClient = makeClient
    self.timeout = timeout
    self.store = store
    var configuration = Configuration()
    configuration.sinks = sinks
    configuration.plugins = settings
    configuration.delivery = delivery
    let context = EngineContext(store: store, clock: clock, configuration: configuration, log: log)
    let services = Services(context: context, workers: 1)
    self.services = services
    let commits = CommitPipeline(
      context: context, hub: WatchHub(spare: context.changeLogs), workers: services.workers)
    self.commits = commits
    let text = #"plugin { name = "p", version = "1", sinks = { "out", "other" } }"# + "\n" + plugin
    let source =
      rules
      ?? RulesSource(plugins: [
        PluginSource(
          name: "p", modules: [SourceFile(path: "p/plugin.lua", text: Array(text.utf8))], data: [], tests: [],
          library: [])
      ])
    let catalog = try CatalogBuilder.build(
      source, configuration: settings, previous: nil, worker: LuaWorker(), now: clock.now)
    services.status.serve(catalog)
    committer = try Thread.start(name: "commit") {
      Committer(services: services, commits: commits).run()
    }
    worker = try Thread.start(name: "worker") {
      do {
        try Worker(
          index: 0, services: services, commits: commits, borrowable: [BorrowableWorker()], catalog: catalog
        ).run()
      } catch { fatalError("\(error)") }
    }
    backoff = Backoff(first: retryAfter, longest: 200)
    if delivers { deliver() }
  }

  func deliver() {
    let (services, backoff, timeout, makeClient) = (services, backoff, timeout, makeClient)
    outbox = try? Thread.start(name: "outbox") {
      let settings = OutboxService.Settings(backoff: backoff, timeout: timeout, recountDelay: 5)
      do throws(SystemError) {
        try OutboxService(services: services, settings: settings, makeClient: makeClient).run()
      } catch { fatalError("\(error)") }
    }
  }

  /// Ends the threads; deliveries under way have so many milliseconds to end.
  func stop(within milliseconds: UInt64 = 10_000) {
    services.outbox.stop(within: milliseconds)
    outbox?.join()
    services.workers[0].send(.stop)
    worker.join()
    commits.stop()
    committer.join()
  }

  /// Applies an event, given as JSON; returns its outcome once it is evaluated.
  @discardableResult
  func event(_ text: String) -> JSONValue {
    let answer = Signal<String>()
    services.workers[0].send(
      .evaluate { evaluator in
        let document = TapeDocument()
        let reply = ByteBuffer()
        guard let object = Array(text.utf8).withView({ try? document.parse(copyOf: $0) }) else {
          return answer.set("null")
        }
        var event = EventInput(
          stored: object, text: document.text, now: evaluator.context.clock.now.microseconds)
        event.origin = .client
        do { try evaluator.evaluate(event, into: reply) } catch { reply.append(contentsOf: "\"\(error)\"") }
        answer.set(reply.text)
      })
    return (try? JSONValue(parsing: answer.wait())) ?? .null
  }

  /// Puts an effect into the store like a commit, and adds it to the outbox.
  func emit(_ id: String, subject: String, plugin: String = "p", sink: String = "out", data: String = "{}") throws {
    let key = EffectKey(subject: Array(subject.utf8), sequence: services.context.nextSequence())
    try Self.put(key, id, plugin: plugin, sink: sink, data: data, into: store)
    services.outbox.add([key])
  }

  /// Puts an effect into a store like a commit.
  static func put(
    _ key: EffectKey, _ id: String, plugin: String = "p", sink: String = "out", data: String = "{}",
    into store: any StateStore
  ) throws {
    let name = ByteBuffer()
    key.write(to: name)
    let value = ByteBuffer()
    value.append(
      contentsOf: text(id, String(decoding: key.subject, as: UTF8.self), plugin: plugin, sink: sink, data: data))
    let set = WriteSet()
    set.put(name.bytes, value.bytes)
    try store.commit(set, durable: true)
  }

  static func text(_ id: String, _ subject: String, plugin: String = "p", sink: String = "out", data: String = "{}")
    -> String
  {
    #"{"id":"\#(id)","plugin":"\#(plugin)","sink":"\#(sink)","type":"t","data":\#(data),"subject":"\#(subject)","at":"2025-11-10T00:00:00.000Z"}"#
  }

  /// The undelivered effects in the store as text.
  var undelivered: [String] { Self.undelivered(store) }

  /// The undelivered effects in a store as text.
  static func undelivered(_ store: any StateStore) -> [String] {
    var found: [String] = []
    try? store.scan(prefix: StoreKey.prefix(.effect)) { _, value in
      found.append(String(decoding: value, as: UTF8.self))
      return true
    }
    return found
  }

  /// The figures of a sink.
  func figures(_ sink: String = "out") -> SinkFigures { services.outbox.figures(of: sink) }
}

extension Configuration.Sink {
  /// A sink with a URL.
  static func posting(_ url: String, secret: String? = nil) -> Configuration.Sink {
    var sink = Configuration.Sink()
    sink.url = url
    sink.secretFile = secret
    return sink
  }

  /// A sink whose effects are leased.
  static var leased: Configuration.Sink {
    var sink = Configuration.Sink()
    sink.lease = true
    return sink
  }

  /// A sink that appends to a file.
  static func file(_ path: String) -> Configuration.Sink {
    var sink = Configuration.Sink()
    sink.file = path
    return sink
  }

  /// A sink that writes to the log.
  static var logging: Configuration.Sink {
    var sink = Configuration.Sink()
    sink.log = true
    return sink
  }
}
