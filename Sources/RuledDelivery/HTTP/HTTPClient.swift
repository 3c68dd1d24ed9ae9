internal import CCurl
package import RuledIO

/// Sends requests with libcurl on an event loop; certificates are verified, redirects are not followed.
package final class HTTPClient {
  /// Makes the poll of one of libcurl's sockets.
  package typealias MakePoll =
    (EventLoop, Int32, @escaping (DescriptorPoll.Events) -> Void) throws(SystemError) -> DescriptorPoll

  private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private let loop: EventLoop
  private let makePoll: MakePoll
  private var multi: UnsafeMutableRawPointer?
  private var timer: LoopTimer?
  private var polls: [curl_socket_t: DescriptorPoll] = [:]
  private var transfers: [UnsafeMutableRawPointer: HTTPTransfer] = [:]
  /// Why the last socket could not be watched, until the failed requests report it.
  private var pollError: SystemError?

  /// A client without requests; tests pass a `makePoll` that fails.
  package init(
    on loop: EventLoop,
    makePoll: @escaping MakePoll = { (loop, descriptor, body) throws(SystemError) in
      try DescriptorPoll(on: loop, descriptor, body)
    }
  ) throws(SystemError) {
    self.loop = loop
    self.makePoll = makePoll
    timer = try LoopTimer(on: loop) { [unowned self] in act(on: curl_socket_t(CURL_SOCKET_TIMEOUT)) }
    guard openMulti() != nil else { throw SystemError(12, call: "curl_multi_init", context: "HTTP client") }
  }

  var count: Int { transfers.count }

  /// Sends a request; `completion` is called later, on the loop's thread.
  func send(_ request: HTTPRequest, timeout milliseconds: Int, completion: @escaping (HTTPResult) -> Void) {
    guard let multi = openMulti(), let transfer = HTTPTransfer(of: request, completion) else {
      return completeLater(HTTPTransfer.outOfMemory, completion)
    }
    if let refusal = transfer.configure(for: request, timeout: milliseconds) {
      return completeLater(refusal, completion)
    }
    let status = curl_multi_add_handle(multi, transfer.easy)
    guard status == CURLM_OK else { return completeLater(failure(status), completion) }
    transfers[transfer.easy] = transfer
  }

  /// Drops the requests under way without calling their completions.
  func close() {
    closeMulti()
    timer?.close()
    timer = nil
  }

  private func completeLater(_ result: HTTPResult, _ completion: @escaping (HTTPResult) -> Void) {
    loop.onNextTick { completion(result) }
  }

  // MARK: libcurl's handles

  /// The multi handle, made if there is none; nil without memory for it.
  private func openMulti() -> UnsafeMutableRawPointer? {
    if let multi { return multi }
    guard Self.isInitialized, let made = curl_multi_init() else { return nil }
    ruled_curl_attach(
      made, { _, descriptor, wanted, context, _ in client(context)?.watch(descriptor, for: wanted) ?? 0 },
      { _, milliseconds, context in
        client(context)?.setTimer(milliseconds: milliseconds)
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
    multi = made
    return made
  }

  private func closeMulti() {
    for easy in transfers.keys { curl_multi_remove_handle(multi, easy) }
    transfers = [:]
    if let multi { curl_multi_cleanup(multi) }
    multi = nil
    for poll in polls.values { poll.close() }
    polls = [:]
    timer?.stop()
  }

  // MARK: Results

  /// Lets libcurl act on a socket or on a timeout, and completes the requests that have ended.
  private func act(on descriptor: curl_socket_t, _ events: Int32 = 0) {
    guard let multi else { return }
    var running: Int32 = 0
    let status = curl_multi_socket_action(multi, descriptor, events, &running)
    var ended: [(completion: (HTTPResult) -> Void, result: HTTPResult)] = []
    var queued: Int32 = 0
    while let message = curl_multi_info_read(multi, &queued) {
      var code = CURLE_OK
      guard let easy = ruled_curl_done(message, &code) else { continue }
      curl_multi_remove_handle(multi, easy)
      guard let transfer = transfers.removeValue(forKey: easy) else { continue }
      ended.append((transfer.completion, transfer.result(of: code)))
    }
    if status != CURLM_OK {
      // The handle accepts no requests after an error, and requests under way would never end.
      let failure = failure(status)
      ended += transfers.values.map { ($0.completion, failure) }
      closeMulti()
    }
    for end in ended { end.completion(end.result) }
  }

  /// The result of requests that end with an error of the multi handle.
  private func failure(_ status: CURLMcode) -> HTTPResult {
    defer { pollError = nil }
    return .failed(pollError.map { "\($0)" } ?? String(cString: curl_multi_strerror(status)))
  }

  // MARK: Callbacks of libcurl

  /// Waits for the events of a socket that libcurl wants; -1, which ends all transfers, when it can't be watched.
  private func watch(_ descriptor: curl_socket_t, for wanted: Int32) -> Int32 {
    guard wanted != CURL_POLL_REMOVE else {
      polls.removeValue(forKey: descriptor)?.close()
      return 0
    }
    let poll: DescriptorPoll
    if let known = polls[descriptor] {
      poll = known
    } else {
      do throws(SystemError) {
        poll = try makePoll(loop, descriptor) { [unowned self] events in
          var flags: Int32 = 0
          if events.contains(.readable) { flags |= CURL_CSELECT_IN }
          if events.contains(.writable) { flags |= CURL_CSELECT_OUT }
          if events.contains(.failed) { flags |= CURL_CSELECT_ERR }
          act(on: descriptor, flags)
        }
      } catch {
        pollError = error
        return -1
      }
      polls[descriptor] = poll
    }
    var events: DescriptorPoll.Events = []
    if wanted & CURL_POLL_IN != 0 { events.insert(.readable) }
    if wanted & CURL_POLL_OUT != 0 { events.insert(.writable) }
    poll.wait(for: events)
    return 0
  }

  /// Starts the timer that libcurl wants; a negative delay stops it.
  private func setTimer(milliseconds: Int) {
    if milliseconds < 0 { timer?.stop() } else { timer?.start(after: UInt64(milliseconds)) }
  }
}

private func client(_ context: UnsafeMutableRawPointer?) -> HTTPClient? {
  context.map { Unmanaged<HTTPClient>.fromOpaque($0).takeUnretainedValue() }
}
