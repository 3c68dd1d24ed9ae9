import RuledCore
import RuledEngine

/// What other threads have a worker do for its subjects.
extension Worker {
  /// Fires a timer; ends `cascade` when that is durable.
  func fire(_ timer: DueTimer, _ cascade: Cascade) {
    do throws(RequestError) { try evaluator.fire(timer, cascade: cascade) } catch {
      _ = services.control.send(.perform { $0.timers.hold(timer, after: error) })
    }
    evaluator.batch.awaited.append(cascade)
  }

  /// Tries a parked event again; nil when it is no longer parked.
  func retry(_ key: ParkedKey) -> Result<RetryResult?, RequestError> {
    do throws(RequestError) { return .success(try evaluator.retry(key)) } catch { return .failure(error) }
  }

  /// Drops a parked event; false when it is no longer parked.
  func drop(_ key: ParkedKey) -> Result<Bool, RequestError> {
    do throws(RequestError) { return .success(try evaluator.drop(key)) } catch { return .failure(error) }
  }

  /// Calls the sink handler of an effect's plugin.
  func callSinkHandler(_ effect: [UInt8], plugin: String, sink: String) -> HandlerAnswer {
    guard evaluator.catalog.index(of: plugin) != nil else { return .absent }
    let bytes = ByteBuffer(capacity: effect.count)
    effect.withUnsafeBytes { bytes.append($0) }
    do throws(Failure) {
      guard let answer = try evaluator.handlers.sink(sink, plugin: plugin, effect: bytes.bytes) else { return .none }
      return HandlerAnswer(answer)
    } catch {
      return .failed("\(error.kind)" + (error.file.map { file in " at \(file):\(error.line ?? 0)" } ?? ""))
    }
  }

  /// Calls the handler of a host; the reason of a failure goes to the log, not to the client.
  func callWebHandler(of host: String, _ request: ByteBuffer) -> HTTPResponse {
    do throws(Failure) {
      guard let results = try evaluator.handlers.web(host: host, request: request.bytes) else {
        return HTTPResponse(RequestError(.notFound, "there is nothing at this host"))
      }
      if let response = HTTPResponse(webHandler: results[0]) { return response }
      services.context.log.write(
        LogLine(.error, "the web handler of '\(host)' answered no {status, headers, body} that can be sent"))
    } catch {
      services.context.log.write(
        LogLine(.error, "the web handler of '\(host)' failed: \(error.message)", plugin: error.plugin, rule: error.rule)
      )
    }
    return HTTPResponse(RequestError(.ruleFailed, "this page can't be shown"))
  }
}
