import RuledCore
import RuledEngine
import RuledIO
import RuledWire

/// The methods that other threads execute: control, loader and outbox.
extension Worker {
  static func isForControl(_ method: Method) -> Bool {
    switch method {
    case .reload, .retry, .drop, .clock, .backup, .release, .log, .journal, .backtest, .explainPast,
      .cluster, .clusterDrain, .clusterUndrain:
      true
    default: false
    }
  }

  /// Leaves a request to the control thread, which replies to the target.
  func sendToControl(_ request: RequestView, _ target: ReplyTarget) {
    let caller = ControlCaller(id: request.id.map { Array($0) }, target: target)
    do throws(RequestError) {
      let task: ControlTask
      switch request.method {
      case .reload:
        if let node = try ReloadParams(request).node ?? node(of: target),
          node != services.membership?.name
        {
          return services.reloads.request(.task(.folder(of: node), caller))
        }
        task = .reload
      case .backup:
        _ = try EmptyParams(request)
        task = .backup
      case .release:
        _ = try EmptyParams(request)
        task = .release
      case .log: task = .log(try LogParams(request))
      case .backtest: task = .backtest(try BacktestParams(request))
      case .explainPast, .state: task = .past(try PastParams(request))
      case .journal:
        _ = try EmptyParams(request)
        task = .journal
      case .cluster, .clusterDrain, .clusterUndrain: task = .cluster(try ClusterParams(request))
      case .retry: task = .retry(try ParkedSelection(request))
      case .drop: task = .drop(try ParkedSelection(request))
      default: task = .clock(try ClockParams(request))
      }
      _ = services.control.send(.task(task, caller))
    } catch { replies.sendError(error, for: request, to: target) }
  }

  /// The node that has carried the connection of a request here; nil if the client connected here.
  private func node(of target: ReplyTarget) -> String? {
    target.receiver == .worker(index) ? table[ConnectionToken(raw: target.connection)]?.carried?.node : nil
  }

  static func isForLoader(_ method: Method) -> Bool {
    switch method {
    case .revisions, .revision, .rollback, .unpin: true
    case .rolloutStart, .rolloutSet, .rolloutStatus, .rolloutPromote, .rolloutAbort: true
    case .shadowStart, .shadowStatus, .shadowStop: true
    default: false
    }
  }

  /// Leaves a request to the loader's thread, which replies to the target.
  func sendToLoader(_ request: RequestView, _ target: ReplyTarget) {
    do throws(RequestError) {
      let task: RulesTask
      switch request.method {
      case .revision:
        guard let revision = try RevisionParams(request).revision else {
          throw .invalidParams(path: "params.revision", "is required")
        }
        task = .revision(revision)
      case .rollback: task = .rollback(try RevisionParams(request).revision)
      case .rolloutStart: task = .rolloutStart(try RolloutStartParams(request))
      case .shadowStart: task = .shadowStart(try ShadowStartParams(request))
      case .rolloutSet: task = .rolloutSet(try PercentParams(request).percent)
      default:
        _ = try EmptyParams(request)
        task =
          switch request.method {
          case .unpin: .unpin
          case .rolloutStatus: .rolloutStatus
          case .rolloutPromote: .rolloutPromote
          case .rolloutAbort: .rolloutAbort
          case .shadowStatus: .shadowStatus
          case .shadowStop: .shadowStop
          default: .revisions
          }
      }
      services.reloads.request(.task(task, ControlCaller(id: request.id.map { Array($0) }, target: target)))
    } catch { replies.sendError(error, for: request, to: target) }
  }

  static func isForOutbox(_ method: Method) -> Bool {
    switch method {
    case .effects, .effect, .resend, .dropEffects, .lease, .confirm: true
    default: false
    }
  }

  /// Leaves a request to the outbox's thread, which replies to the target.
  func sendToOutbox(_ request: RequestView, _ target: ReplyTarget) {
    do throws(RequestError) {
      let task: OutboxTask
      switch request.method {
      case .effects: task = .list(try EffectsParams(request))
      case .effect:
        let selection = try EffectSelection(request)
        if case .failed = selection { throw .invalidParams(path: "params.sink", "belongs to resend and drop_effects") }
        task = .show(selection)
      case .resend: task = .resend(try EffectSelection(request))
      case .dropEffects: task = .drop(try EffectSelection(request))
      case .lease:
        task = .lease(try LeaseParams(request))
        if case .worker(index) = target.receiver { leasers.insert(target.connection) }
      default: task = .confirm(try ConfirmParams(request))
      }
      let caller = ControlCaller(id: request.id.map { Array($0) }, target: target)
      guard services.outbox.mailbox.send(.task(task, caller)) else {
        throw RequestError(.unavailable, "the daemon is shutting down")
      }
    } catch { replies.sendError(error, for: request, to: target) }
  }

  /// Answers the requests of a connection that wait for effects: its client has ended its side, and is probably gone.
  func endWaits(of connection: UInt64) {
    guard leasers.remove(connection) != nil else { return }
    services.outbox.mailbox.send(.endWaits(connection: connection, at: .worker(index)))
  }
}
