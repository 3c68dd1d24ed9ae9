internal import CCurl
import RuledCore

/// A request to be sent.
struct HTTPRequest {
  /// The receiver, an `http` or `https` URL.
  var url: String
  /// The method in capital letters.
  var method = "POST"
  /// The header fields.
  var headers: [(name: String, value: String)] = []
  /// The body.
  var body: [UInt8] = []
  /// The file with the client's certificate and its key, if the client has one.
  var certificate: String?
  /// The file with the authorities that the receiver's certificate is checked against; nil for the system's.
  var authorities: String?
  /// How many bytes of the answer's body are kept.
  var keptBytes = 0
}

/// The result of a request.
enum HTTPResult {
  /// The receiver answered; `retryAfter` is the wait in seconds that it asks for, 0 if it does not ask.
  ///
  /// `body` is the beginning of the answer's body.
  case answered(status: Int, retryAfter: Int, body: [UInt8])
  /// There was no answer, for a reason that another try may not meet.
  case failed(String)
  /// The request can't be sent at all.
  case refused(String)
}

/// Sends requests with libcurl on an event loop; certificates are verified, redirects are not followed.
final class HTTPClient {
  /// Makes the poll of one of libcurl's sockets.
  typealias MakePoll =
    (EventLoop, Int32, @escaping (DescriptorPoll.Events) -> Void) throws(SystemError) -> DescriptorPoll

  private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private let loop: EventLoop
  private let makePoll: MakePoll
  private var multi: UnsafeMutableRawPointer?
  private var timer: LoopTimer?
  private var polls: [curl_socket_t: DescriptorPoll] = [:]
  private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
  /// Why the last socket could not be watched, until that is reported.
  private var pollError: SystemError?

  /// A request under way.
  fileprivate final class Transfer {
    let headers: UnsafeMutablePointer<curl_slist>?
    let completion: (HTTPResult) -> Void
    /// The first `keptBytes` bytes of the answer's body.
    var body: [UInt8] = []
    let keptBytes: Int
    /// Whether the answer's head has come whole.
    var hasHead = false
    /// Where libcurl writes what went wrong.
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init(
      headers: UnsafeMutablePointer<curl_slist>?, keptBytes: Int, completion: @escaping (HTTPResult) -> Void
    ) {
      self.headers = headers
      self.keptBytes = keptBytes
      self.completion = completion
      errorText.pointee = 0
    }

    deinit { errorText.deallocate() }
  }

  /// A client without requests; tests pass a `makePoll` that fails.
  init(
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

  /// How many requests are under way.
  var count: Int { transfers.count }

  /// Sends a request; `completion` is called later, on the loop's thread.
  func send(_ request: HTTPRequest, timeout milliseconds: Int, completion: @escaping (HTTPResult) -> Void) {
    guard let multi = openMulti(), let easy = curl_easy_init() else {
      return completeLater(Self.result(of: CURLE_OUT_OF_MEMORY), completion)
    }
    let transfer = Transfer(
      headers: Self.headerList(request.headers + [("Expect", "")]), keptBytes: request.keptBytes,
      completion: completion)
    let code = Self.configure(easy, for: request, transfer, timeout: milliseconds)
    let status = code == CURLE_OK ? curl_multi_add_handle(multi, easy) : CURLM_OK
    guard code == CURLE_OK, status == CURLM_OK else {
      release(easy, transfer)
      return completeLater(code == CURLE_OK ? failure(status) : Self.result(ofConfiguring: code), completion)
    }
    transfers[easy] = transfer
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
    ruled_curl_attach(made, socketCallback, timerCallback, Unmanaged.passUnretained(self).toOpaque())
    multi = made
    return made
  }

  private func closeMulti() {
    for (easy, transfer) in transfers {
      curl_multi_remove_handle(multi, easy)
      release(easy, transfer)
    }
    transfers = [:]
    if let multi { curl_multi_cleanup(multi) }
    multi = nil
    for poll in polls.values { poll.close() }
    polls = [:]
    timer?.stop()
  }

  private func release(_ easy: UnsafeMutableRawPointer, _ transfer: Transfer) {
    curl_easy_cleanup(easy)
    curl_slist_free_all(transfer.headers)
  }

  /// The header fields as libcurl's list; nil without memory for it.
  private static func headerList(_ headers: [(name: String, value: String)]) -> UnsafeMutablePointer<curl_slist>? {
    var list: UnsafeMutablePointer<curl_slist>?
    for header in headers {
      // libcurl sends a field without a value for "name;", and removes one of its own for "name:".
      let line = header.value.isEmpty && header.name != "Expect" ? "\(header.name);" : "\(header.name): \(header.value)"
      guard let longer = curl_slist_append(list, line) else {
        curl_slist_free_all(list)
        return nil
      }
      list = longer
    }
    return list
  }

  private static func configure(
    _ easy: UnsafeMutableRawPointer, for request: HTTPRequest, _ transfer: Transfer, timeout: Int
  ) -> CURLcode {
    guard let headers = transfer.headers else { return CURLE_OUT_OF_MEMORY }
    let context = Unmanaged.passUnretained(transfer).toOpaque()
    let hasBody = request.method != "GET"
    let steps: [() -> CURLcode] = [
      { ruled_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https") },
      { ruled_curl_set_text(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") },
      { ruled_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0) },
      { ruled_curl_set_text(easy, CURLOPT_URL, request.url) },
      { ruled_curl_set_long(easy, hasBody ? CURLOPT_POST : CURLOPT_HTTPGET, 1) },
      { ruled_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method) },
      { hasBody ? request.body.withView { setBody(easy, $0) } : CURLE_OK },
      { ruled_curl_set_headers(easy, headers) },
      { ruled_curl_set_text(easy, CURLOPT_USERAGENT, "ruled") },
      { ruled_curl_set_long(easy, CURLOPT_NOSIGNAL, 1) },
      { ruled_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, min(timeout, 10_000)) },
      { ruled_curl_set_long(easy, CURLOPT_TIMEOUT_MS, timeout) },
      { ruled_curl_set_write(easy, keepBody, context) },
      { ruled_curl_set_head(easy, readHead, context) },
      { ruled_curl_set_error_text(easy, transfer.errorText) },
      { request.certificate.map { ruled_curl_set_text(easy, CURLOPT_SSLCERT, $0) } ?? CURLE_OK },
      { request.certificate.map { ruled_curl_set_text(easy, CURLOPT_SSLKEY, $0) } ?? CURLE_OK },
      { request.authorities.map { ruled_curl_set_text(easy, CURLOPT_CAINFO, $0) } ?? CURLE_OK },
    ]
    for step in steps {
      let code = step()
      guard code == CURLE_OK else { return code }
    }
    return CURLE_OK
  }

  private static func setBody(_ easy: UnsafeMutableRawPointer, _ body: ByteView) -> CURLcode {
    guard let start = body.baseAddress, !body.isEmpty else { return ruled_curl_set_body(easy, "", 0) }
    return ruled_curl_set_body(easy, start, curl_off_t(body.count))
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
      guard let easy = ruled_curl_done(message, &code), let transfer = transfers.removeValue(forKey: easy) else {
        continue
      }
      let result = code == CURLE_OK ? Self.answer(of: easy, transfer) : Self.result(of: code, transfer)
      ended.append((transfer.completion, result))
      curl_multi_remove_handle(multi, easy)
      release(easy, transfer)
    }
    if status != CURLM_OK {
      // The handle accepts no requests after an error, and those under way would never end.
      let failure = failure(status)
      ended += transfers.values.map { ($0.completion, failure) }
      closeMulti()
    }
    for end in ended { end.completion(end.result) }
  }

  /// The result of a transfer that ended without an error; libcurl takes an end within the head for the end of the answer.
  private static func answer(of easy: UnsafeMutableRawPointer, _ transfer: Transfer) -> HTTPResult {
    guard transfer.hasHead else { return .failed("the answer ended within its head") }
    return .answered(
      status: Int(ruled_curl_status(easy)), retryAfter: Int(ruled_curl_retry_after(easy)), body: transfer.body)
  }

  /// The result of a transfer that ended with an error; what libcurl wrote of it says more than its code.
  private static func result(of code: CURLcode, _ transfer: Transfer? = nil) -> HTTPResult {
    let detail = transfer.map { String(cString: $0.errorText) } ?? ""
    let reason = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    return code == CURLE_URL_MALFORMAT ? .refused(reason) : .failed(reason)
  }

  /// The result of a request that libcurl did not accept: another try meets the same, unless memory was short.
  private static func result(ofConfiguring code: CURLcode) -> HTTPResult {
    code == CURLE_OUT_OF_MEMORY ? result(of: code) : .refused(String(cString: curl_easy_strerror(code)))
  }

  /// The result of requests that end with an error of the multi handle.
  private func failure(_ status: CURLMcode) -> HTTPResult {
    defer { pollError = nil }
    return .failed(pollError.map { "\($0)" } ?? String(cString: curl_multi_strerror(status)))
  }

  // MARK: Callbacks of libcurl

  /// Waits for what libcurl wants of a socket; -1, which ends all transfers, when it can't be watched.
  fileprivate func watch(_ descriptor: curl_socket_t, for wanted: Int32) -> Int32 {
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
  fileprivate func setTimer(milliseconds: Int) {
    if milliseconds < 0 { timer?.stop() } else { timer?.start(after: UInt64(milliseconds)) }
  }
}

private func socketCallback(
  _ easy: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ wanted: Int32, _ context: UnsafeMutableRawPointer?,
  _ ofSocket: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context else { return 0 }
  return Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue().watch(descriptor, for: wanted)
}

private func timerCallback(
  _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context else { return 0 }
  Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue().setTimer(milliseconds: milliseconds)
  return 0
}

private func readHead(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let bytes, let context else { return size * count }
  // Each call has one line: a status line begins a head, a blank line ends it. Trailers come after it.
  let line = ByteView(start: bytes, count: size * count)
  let transfer = Unmanaged<HTTPClient.Transfer>.fromOpaque(context).takeUnretainedValue()
  if line.starts(with: "HTTP/".utf8) {
    transfer.hasHead = false
  } else if line.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
    transfer.hasHead = true
  }
  return size * count
}

private func keepBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let bytes, let context else { return size * count }
  let transfer = Unmanaged<HTTPClient.Transfer>.fromOpaque(context).takeUnretainedValue()
  let room = transfer.keptBytes - transfer.body.count
  if room > 0 { transfer.body += ByteView(start: bytes, count: min(room, size * count)) }
  return size * count
}

/// The scheme, host and port of a URL as libcurl reads it: a secret for one origin is not sent to another.
struct URLOrigin: Equatable {
  private let scheme: String
  private let host: String
  private let port: String

  /// The origin of a URL; nil unless it is an `http` or `https` URL.
  init?(_ url: String) {
    guard let handle = curl_url() else { return nil }
    defer { curl_url_cleanup(handle) }
    guard curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK,
      let scheme = Self.part(CURLUPART_SCHEME, of: handle), let host = Self.part(CURLUPART_HOST, of: handle),
      let port = Self.part(CURLUPART_PORT, of: handle), scheme == "http" || scheme == "https"
    else { return nil }
    self.scheme = scheme
    self.host = host.lowercased()
    self.port = port
  }

  private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
