internal import CCurl

/// Sends requests over libcurl on an event loop: certificates are verified, redirects are not followed.
final class HTTPClient {
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private let loop: EventLoop
  private let multi: UnsafeMutableRawPointer
  private var timer: LoopTimer?
  private var polls: [curl_socket_t: DescriptorPoll] = [:]
  private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]

  /// One request under way.
  private struct Transfer {
    let headers: UnsafeMutablePointer<curl_slist>?
    let done: (HTTPResult) -> Void
  }

  /// A client without requests; nil when there is no memory for it.
  init?(on loop: EventLoop) throws(SystemError) {
    guard Self.isReady, let multi = curl_multi_init() else { return nil }
    self.loop = loop
    self.multi = multi
    timer = try LoopTimer(on: loop) { [unowned self] in act(curl_socket_t(CURL_SOCKET_TIMEOUT), 0) }
    ruled_curl_attach(multi, clientPolls, clientWaits, Unmanaged.passUnretained(self).toOpaque())
  }

  /// How many requests are under way.
  var count: Int { transfers.count }

  /// Sends a request; `done` is called later, on the loop's thread.
  func send(_ request: HTTPRequest, timeout milliseconds: Int, done: @escaping (HTTPResult) -> Void) {
    guard let easy = curl_easy_init() else { return later(.failed("there is no memory for a request"), done) }
    var headers: UnsafeMutablePointer<curl_slist>?
    for header in request.headers + [("Expect", "")] {
      let line = header.value.isEmpty && header.name != "Expect" ? "\(header.name);" : "\(header.name): \(header.value)"
      guard let longer = curl_slist_append(headers, line) else { continue }
      headers = longer
    }
    let code = Self.prepare(easy, request, headers, timeout: milliseconds)
    guard code == CURLE_OK, curl_multi_add_handle(multi, easy) == CURLM_OK else {
      curl_slist_free_all(headers)
      curl_easy_cleanup(easy)
      return later(.refused(String(cString: curl_easy_strerror(code))), done)
    }
    transfers[easy] = Transfer(headers: headers, done: done)
  }

  /// Gives up what is under way, without calling anybody.
  func close() {
    for (easy, transfer) in transfers { release(easy, transfer) }
    transfers = [:]
    curl_multi_cleanup(multi)
    for poll in polls.values { poll.close() }
    polls = [:]
    timer?.close()
    timer = nil
  }

  private func later(_ result: HTTPResult, _ done: @escaping (HTTPResult) -> Void) { loop.onNextTick { done(result) } }

  private static func prepare(
    _ easy: UnsafeMutableRawPointer, _ request: HTTPRequest, _ headers: UnsafeMutablePointer<curl_slist>?, timeout: Int
  ) -> CURLcode {
    let hasBody = request.method != "GET"
    let steps: [() -> CURLcode] = [
      { ruled_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https") },
      { ruled_curl_set_text(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") },
      { ruled_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0) },
      { ruled_curl_set_text(easy, CURLOPT_URL, request.url) },
      { ruled_curl_set_long(easy, hasBody ? CURLOPT_POST : CURLOPT_HTTPGET, 1) },
      { ruled_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method) },
      { hasBody ? request.body.withUnsafeBytes { setBody(easy, $0) } : CURLE_OK },
      { ruled_curl_set_headers(easy, headers) },
      { ruled_curl_set_text(easy, CURLOPT_USERAGENT, "ruled") },
      { ruled_curl_set_long(easy, CURLOPT_NOSIGNAL, 1) },
      { ruled_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, min(timeout, 10_000)) },
      { ruled_curl_set_long(easy, CURLOPT_TIMEOUT_MS, timeout) },
      { ruled_curl_set_write(easy, clientDrops) },
    ]
    for step in steps {
      let code = step()
      guard code == CURLE_OK else { return code }
    }
    return CURLE_OK
  }

  private static func setBody(_ easy: UnsafeMutableRawPointer, _ body: UnsafeRawBufferPointer) -> CURLcode {
    guard let start = body.baseAddress, !body.isEmpty else { return ruled_curl_set_body(easy, "", 0) }
    return ruled_curl_set_body(easy, start, curl_off_t(body.count))
  }

  private func release(_ easy: UnsafeMutableRawPointer, _ transfer: Transfer) {
    curl_multi_remove_handle(multi, easy)
    curl_slist_free_all(transfer.headers)
    curl_easy_cleanup(easy)
  }

  /// Lets libcurl act on a descriptor or on a timeout, and tells of what has ended.
  private func act(_ descriptor: curl_socket_t, _ events: Int32) {
    var running: Int32 = 0
    curl_multi_socket_action(multi, descriptor, events, &running)
    var left: Int32 = 0
    var ended: [(done: (HTTPResult) -> Void, result: HTTPResult)] = []
    while let message = curl_multi_info_read(multi, &left) {
      var code = CURLE_OK
      guard let easy = ruled_curl_done(message, &code), let transfer = transfers.removeValue(forKey: easy) else {
        continue
      }
      ended.append((transfer.done, Self.result(of: easy, code)))
      release(easy, transfer)
    }
    for end in ended { end.done(end.result) }
  }

  private static func result(of easy: UnsafeMutableRawPointer, _ code: CURLcode) -> HTTPResult {
    switch code {
    case CURLE_OK: .answered(status: Int(ruled_curl_status(easy)), retryAfter: Int(ruled_curl_retry_after(easy)))
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .refused(String(cString: curl_easy_strerror(code)))
    default: .failed(String(cString: curl_easy_strerror(code)))
    }
  }

  // MARK: What libcurl asks for

  fileprivate func poll(_ descriptor: curl_socket_t, _ what: Int32) -> Int32 {
    guard what != CURL_POLL_REMOVE else {
      polls.removeValue(forKey: descriptor)?.close()
      return 0
    }
    let poll: DescriptorPoll
    if let known = polls[descriptor] {
      poll = known
    } else {
      do throws(SystemError) {
        poll = try DescriptorPoll(on: loop, descriptor) { [unowned self] events in
          var flags: Int32 = 0
          if events.contains(.readable) { flags |= CURL_CSELECT_IN }
          if events.contains(.writable) { flags |= CURL_CSELECT_OUT }
          if events.contains(.failed) { flags |= CURL_CSELECT_ERR }
          act(descriptor, flags)
        }
      } catch { return -1 }
      polls[descriptor] = poll
    }
    var events: DescriptorPoll.Events = []
    if what & CURL_POLL_IN != 0 { events.insert(.readable) }
    if what & CURL_POLL_OUT != 0 { events.insert(.writable) }
    poll.wait(for: events)
    return 0
  }

  fileprivate func wait(_ milliseconds: Int) {
    if milliseconds < 0 { timer?.stop() } else { timer?.start(after: UInt64(milliseconds)) }
  }
}

private func clientPolls(
  _ easy: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ what: Int32, _ context: UnsafeMutableRawPointer?,
  _ ofSocket: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context else { return 0 }
  return Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue().poll(descriptor, what)
}

private func clientWaits(_ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?)
  -> Int32
{
  guard let context else { return 0 }
  Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue().wait(milliseconds)
  return 0
}

private func clientDrops(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int { size * count }
