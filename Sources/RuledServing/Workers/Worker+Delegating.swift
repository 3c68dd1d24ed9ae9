import RuledCore
import RuledIO
import RuledWire

/// The methods that other threads execute: control, loader and outbox.
extension Worker {
  /// Leaves a request to the thread that executes its method, which replies to the target; false if this worker executes it.
  func delegate(_ request: RequestView, to target: ReplyTarget) -> Bool {
    func caller() -> ControlCaller {
      ControlCaller(id: request.id.map { Array($0) }, target: target, isRead: Self.showsState(request.method))
    }
    func control(_ task: ControlTask) { _ = services.control.send(.task(task, caller())) }
    func load(_ task: RulesTask) { services.reloads.request(.task(task, caller())) }
    func deliver(_ task: OutboxTask) throws(RequestError) {
      guard services.outbox.mailbox.send(.task(task, caller())) else {
        throw RequestError(.unavailable, "the daemon is shutting down")
      }
    }
    /// A task of a request that has no parameters.
    func plain<Task>(_ task: Task) throws(RequestError) -> Task {
      try request.checkNoParams()
      return task
    }
    do throws(RequestError) {
      switch request.method {
      case .reload:
        if let node = try request.node() ?? node(of: target), node != services.membership?.name {
          load(.folder(of: node))
        } else {
          control(.reload)
        }
      case .backup: control(try plain(.backup))
      case .release: control(try plain(.release))
      case .log: control(.log(try LogParams(request)))
      case .backtest: control(.backtest(try BacktestParams(request)))
      case .explainPast: control(.past(try PastParams(request)))
      case .state where PastParams.concerns(request): control(.past(try PastParams(request)))
      case .journal: control(try plain(.journal))
      case .cluster, .clusterDrain, .clusterUndrain: control(.cluster(try ClusterParams(request)))
      case .retry: control(.retry(try ParkedSelection(request)))
      case .drop: control(.drop(try ParkedSelection(request)))
      case .clock: control(.clock(try ClockParams(request)))
      case .revisions: load(try plain(.revisions))
      case .revision:
        guard let revision = try request.revision() else {
          throw .invalidParams(path: "params.revision", "is required")
        }
        load(.revision(revision))
      case .rollback: load(.rollback(try request.revision()))
      case .unpin: load(try plain(.unpin))
      case .rolloutStart: load(.rolloutStart(try RolloutStartParams(request)))
      case .rolloutSet: load(.rolloutSet(try request.percent()))
      case .rolloutStatus: load(try plain(.rolloutStatus))
      case .rolloutPromote: load(try plain(.rolloutPromote))
      case .rolloutAbort: load(try plain(.rolloutAbort))
      case .shadowStart: load(.shadowStart(try ShadowStartParams(request)))
      case .shadowStatus: load(try plain(.shadowStatus))
      case .shadowStop: load(try plain(.shadowStop))
      case .effects: try deliver(.list(try EffectsParams(request)))
      case .effect:
        let selection = try EffectSelection(request)
        if case .failed = selection { throw .invalidParams(path: "params.sink", "belongs to resend and drop_effects") }
        try deliver(.show(selection))
      case .resend: try deliver(.resend(try EffectSelection(request)))
      case .dropEffects: try deliver(.drop(try EffectSelection(request)))
      case .lease:
        let params = try LeaseParams(request)
        if case .worker(index) = target.receiver { leasers.insert(target.connection) }
        try deliver(.lease(params))
      case .confirm: try deliver(.confirm(try ConfirmParams(request)))
      default: return false
      }
    } catch { replies.sendError(error, for: request, to: target) }
    return true
  }

  /// The node that has carried the connection of a request here; nil if the client connected here.
  private func node(of target: ReplyTarget) -> String? {
    target.receiver == .worker(index) ? table[ConnectionToken(raw: target.connection)]?.carried?.node : nil
  }

  /// Answers the requests of a connection that wait for effects: its client has ended its side, and is probably gone.
  func endWaits(of connection: UInt64) {
    guard leasers.remove(connection) != nil else { return }
    services.outbox.mailbox.send(.endWaits(connection: connection, at: .worker(index)))
  }
}
