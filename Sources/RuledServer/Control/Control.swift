import RuledCore
import RuledEngine
import RuledStore
import RuledWire

/// The thread that does what concerns all workers: it accepts connections, fires timers, and begins the shutdown.
final class Control {
  let services: Services
  let loop: EventLoop
  let timers: TimerService
  private var listener: Listener?
  private var webListener: Listener?
  private var signals: SignalWatcher?
  private var nextWorker = 0
  private var watchdog: Watchdog?
  private let onStop: () -> Void
  private let replyBuffer = ByteBuffer(capacity: 1024)

  init(services: Services, loop: EventLoop, onStop: @escaping () -> Void) throws(SystemError) {
    self.services = services
    self.loop = loop
    self.onStop = onStop
    timers = try TimerService(services: services, loop: loop)
  }

  /// Begins to serve on the socket.
  func start(listening socket: consuming ListeningSocket) throws(SystemError) {
    try services.control.attach(to: loop) { [unowned self] messages in
      for message in messages { take(message) }
    }
    signals = try SignalWatcher(on: loop, [.terminate, .interrupt, .hangUp]) { [unowned self] signal in
      signal == .hangUp ? services.reloads.ask(.configuration) : onStop()
    }
    listener = try Listener(on: loop, socket) { [unowned self] in accepted($0) }
    timers.start()
    watchdog = try Watchdog(on: loop, services)
  }

  /// Begins to serve HTTP on a TCP socket.
  func listen(_ socket: consuming ListeningSocket) throws(SystemError) {
    webListener = try Listener(on: loop, socket) { [unowned self] in services.adoptHTTP($0) }
  }

  /// Takes no more connections.
  func stopAccepting() {
    listener?.stop()
    listener = nil
    webListener?.stop()
    webListener = nil
    timers.stop()
  }

  /// Ends what is left on the loop.
  func close() {
    signals?.close()
    watchdog?.close()
    timers.close()
    services.control.close()
  }

  private func accepted(_ descriptor: Int32) {
    let worker = nextWorker
    nextWorker = (nextWorker + 1) % services.workers.count
    // Counted here, so that those on their way to a worker take no descriptor that is meant for the store.
    guard services.connections.load(ordering: .relaxed) < services.connectionLimit else { return refuse(descriptor) }
    services.connections.wrappingAdd(1, ordering: .relaxed)
    if !services.workers[worker].send(.perform { $0.adopt(descriptor) }) {
      services.connections.wrappingSubtract(1, ordering: .relaxed)
      SystemCalls.close(descriptor)
    }
  }

  /// Answers a connection beyond the limit and closes it.
  private func refuse(_ descriptor: Int32) {
    let error = RequestError(
      .overloaded, "more connections than limits.connections allows, or than the process may have open files",
      details: [.init("retry_after_ms", 1000)])
    replyBuffer.removeAll()
    ReplyWriter.error(error, id: nil, to: replyBuffer)
    ReplyWriter.endLine(to: replyBuffer)
    _ = SystemCalls.send(descriptor, replyBuffer.bytes)
    SystemCalls.close(descriptor)
  }

  private func take(_ message: ControlMessage) {
    switch message {
    case .task(let task, let id, let target): take(task, id, target)
    case .timerSet(let due): timers.set(due)
    case .storeReopened:
      timers.retryHeld()
      timers.look()
      services.outbox.look()
    case .perform(let body): body(self)
    }
  }

  private func take(_ task: ControlTask, _ id: [UInt8]?, _ target: ReplyTarget) {
    switch task {
    case .reload:
      if !services.reloads.wait(.init(id: id, target: target)) { answer(.failure(Reloads.ending), id, target) }
    case .retry(let selection): retry(selection, id, target)
    case .drop(let selection): drop(selection, id, target)
    case .clock(let params): setClock(params, id, target)
    }
  }

  /// Answers a client through the worker that has its connection.
  func answer(_ result: Result<JSONValue, RequestError>, _ id: [UInt8]?, _ target: ReplyTarget) {
    replyBuffer.removeAll()
    if let id {
      id.withUnsafeBytes { id in
        switch result {
        case .success(let value):
          ReplyWriter.beginResult(id: id, to: replyBuffer)
          value.write(to: replyBuffer)
          ReplyWriter.endResult(to: replyBuffer)
        case .failure(let error): ReplyWriter.error(error, id: id, to: replyBuffer)
        }
      }
      if target.batch == 0 { ReplyWriter.endLine(to: replyBuffer) }
    }
    var bundle = ReplyBundle()
    bundle.append(replyBuffer.bytes, to: target)
    services.send(bundle, to: target.worker)
  }
}
