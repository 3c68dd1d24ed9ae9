import RuledCore
import RuledEngine
import RuledWire

/// What the workers leave to other threads.
extension ShareSession {
  func receive(_ message: ControlMessage) {
    switch message {
    case .timerFailed(let timer, let error): send(.timerFailed(timer, error))
    case .task(_, let caller): refuse(caller)
    case .timerSet, .timerMoved, .partitionsOpened, .storeReopened, .perform: break
    }
  }

  /// Refuses what a worker has sent on to the owner, which has routed it here.
  func refuse(_ message: WorkerMessage) {
    switch message {
    case .request(let request): refuse(request.text, request.target)
    case .requests(let bundle): for entry in bundle.entries { refuse(Array(bundle.text(of: entry)), entry.target) }
    case .messages(let messages): for message in messages { message.cascade?.leave(isCommitted: false) }
    case .fire(_, let cascade): cascade.leave()
    case .replies, .durable, .lost, .cascadeEnded, .perform: break
    }
  }

  private static let isElsewhere = RequestError(
    .unavailable, "the subject is evaluated on another node by now; try again",
    details: [.init("retry_after_ms", 100)])

  private func refuse(_ text: [UInt8], _ target: ReplyTarget) {
    reply(to: target) { buffer in
      ReplySender.writeRefusal(
        of: text, Self.isElsewhere, isAlone: target.batch == 0, parser: parser, to: buffer)
    }
  }

  private func refuse(_ caller: ControlCaller) {
    reply(to: caller.target) { buffer in
      let isAlone = caller.target.batch == 0
      guard let id = caller.id else {
        return ReplySender.writeError(Self.isElsewhere, id: nil, isAlone: isAlone, to: buffer)
      }
      id.withView { ReplySender.writeError(Self.isElsewhere, id: $0, isAlone: isAlone, to: buffer) }
    }
  }

  private func reply(to target: ReplyTarget, _ write: (ByteBuffer) -> Void) {
    engine?.services.elsewhere?.noteRefusal(.unavailable)
    let buffer = ByteBuffer(capacity: 256)
    write(buffer)
    var bundle = ReplyBundle()
    bundle.append(buffer.bytes, to: target)
    replies.reply(bundle, recyclingTo: nil)
  }
}
