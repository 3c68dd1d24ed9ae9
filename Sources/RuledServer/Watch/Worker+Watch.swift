import RuledCore
import RuledEngine
import RuledWire

extension Worker {
  /// Carries out `watch` and `unwatch`, whose answers wait for no commit: what a watcher is told comes behind its number.
  func watch(_ request: RequestView, _ target: ReplyTarget) {
    replyBuffer.removeAll()
    do throws(RequestError) {
      let number: Int64
      if request.method == .watch {
        let params = try WatchParams(request)
        number = watches.begin(params, connection: target.connection, batch: target.batch)
      } else {
        number = try UnwatchParams(request).watch
        try watches.end(number, connection: target.connection)
      }
      if !request.isNotification {
        ReplyWriter.beginResult(id: request.id, to: replyBuffer)
        replyBuffer.append("{\"watch\":" as StaticString)
        replyBuffer.append(decimal: number)
        replyBuffer.append(UInt8(ascii: "}"))
        ReplyWriter.endResult(to: replyBuffer)
      }
    } catch {
      if !request.isNotification { ReplyWriter.error(error, id: request.id, to: replyBuffer) }
    }
    if !request.isNotification, target.batch == 0 { ReplyWriter.endLine(to: replyBuffer) }
    send(replyBuffer.bytes, to: target)
  }
}
