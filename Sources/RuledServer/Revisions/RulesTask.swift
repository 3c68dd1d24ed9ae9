import RuledCore
import RuledEngine
import RuledStore
import RuledWire

/// A method that the loader's thread executes, as it concerns the rules in force.
enum RulesTask: Sendable {
  case revisions
  /// Show the sources of a revision.
  case revision(String)
  /// Put an earlier revision in force, the one before if none is named, and pin it.
  case rollback(String?)
  /// Read the folder again.
  case unpin
  /// Put the rules in force that are in the folder of another node of the cluster.
  case folder(of: String)
  /// Try rules on a share of the subjects.
  case rolloutStart(RolloutStartParams)
  /// Change the share, in percent.
  case rolloutSet(Double)
  case rolloutStatus
  /// Put the rules that are tried in force for all.
  case rolloutPromote
  /// Give all subjects back to the live rules.
  case rolloutAbort
  /// Let rules see live events beside the live rules.
  case shadowStart(ShadowStartParams)
  /// Show what they made otherwise.
  case shadowStatus
  case shadowStop
}

extension Worker {
  /// Whether only the loader's thread can execute a method.
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
}
