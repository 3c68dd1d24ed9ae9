import RuledCore
import RuledWire

extension RequestError {
  static let notCommitted = RequestError(
    .unavailable, "the store refused the commit: the request is done in part or not at all, send it again")
}

/// Replies of threads other than workers: they leave through the thread that has the connection.
extension Services {
  func reply(_ result: Result<JSONValue, RequestError>, to caller: ControlCaller) {
    reply(to: caller, result) { $0.write(to: $1) }
  }

  /// Replies to a client with JSON text as the result.
  func reply(text result: Result<[UInt8], RequestError>, to caller: ControlCaller) {
    reply(to: caller, result) { text, buffer in text.withView { buffer.append($0) } }
  }

  private func reply<Value>(
    to caller: ControlCaller, _ result: Result<Value, RequestError>, _ write: (Value, ByteBuffer) -> Void
  ) {
    let buffer = ByteBuffer(capacity: 1024)
    var result = result
    if caller.isRead { do throws(RequestError) { try checkRead() } catch { result = .failure(error) } }
    if case .failure(let error) = result { noteError(error.code) }
    if let id = caller.id {
      let isAlone = caller.target.batch == 0
      id.withView { id in
        switch result {
        case .success(let value):
          ReplyWriter.beginResult(id: id, to: buffer)
          write(value, buffer)
          ReplyWriter.endResult(to: buffer)
          if isAlone { ReplyWriter.endLine(to: buffer) }
        case .failure(let error): ReplyWriter.error(error, id: id, isAlone: isAlone, replacing: buffer)
        }
      }
    }
    switch caller.target.receiver {
    case .http: web.withLock { $0 }?.receive(buffer.bytes, for: caller.target)
    case .worker(let worker):
      let bundle = TextBundle()
      bundle.add(buffer.bytes, to: caller.target)
      workers[worker].send(.replies(bundle))
    }
  }
}
