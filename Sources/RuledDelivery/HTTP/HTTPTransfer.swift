internal import CCurl
import RuledCore

/// A request under way: libcurl's easy handle with its buffers.
final class HTTPTransfer {
  /// The handle; it must have left the multi handle before the transfer is released.
  let easy: UnsafeMutableRawPointer
  let completion: (HTTPResult) -> Void
  private let headers: UnsafeMutablePointer<curl_slist>?
  /// The first `keptBytes` bytes of the answer's body.
  private var body: [UInt8] = []
  private let keptBytes: Int
  /// Whether the answer's head has come whole.
  private var hasHead = false
  /// The buffer for libcurl's error text.
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  /// A transfer of a request, to be configured; nil without memory for it.
  init?(of request: HTTPRequest, _ completion: @escaping (HTTPResult) -> Void) {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    self.completion = completion
    headers = Self.headerList(request.headers + [("Expect", "")])
    keptBytes = request.keptBytes
    errorText.pointee = 0
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(headers)
    errorText.deallocate()
  }

  // MARK: The request

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

  /// Tells libcurl the request; returns the result if libcurl does not accept it.
  func configure(for request: HTTPRequest, timeout milliseconds: Int) -> HTTPResult? {
    guard let headers else { return Self.outOfMemory }
    let context = Unmanaged.passUnretained(self).toOpaque()
    let hasBody = request.method != "GET"
    let (easy, errorText) = (easy, errorText)
    let steps: [() -> CURLcode] = [
      { ruled_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https") },
      { ruled_curl_set_text(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") },
      { ruled_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0) },
      { ruled_curl_set_text(easy, CURLOPT_URL, request.url) },
      { ruled_curl_set_long(easy, hasBody ? CURLOPT_POST : CURLOPT_HTTPGET, 1) },
      { ruled_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method) },
      { hasBody ? request.body.withView { Self.setBody(easy, $0) } : CURLE_OK },
      { ruled_curl_set_headers(easy, headers) },
      { ruled_curl_set_text(easy, CURLOPT_USERAGENT, "ruled") },
      { ruled_curl_set_long(easy, CURLOPT_NOSIGNAL, 1) },
      { ruled_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, min(milliseconds, 10_000)) },
      { ruled_curl_set_long(easy, CURLOPT_TIMEOUT_MS, milliseconds) },
      { ruled_curl_set_write(easy, { pass($0, $1 * $2, to: $3) { $0.keepBody($1) } }, context) },
      { ruled_curl_set_head(easy, { pass($0, $1 * $2, to: $3) { $0.readHead($1) } }, context) },
      { ruled_curl_set_error_text(easy, errorText) },
      { request.certificate.map { ruled_curl_set_text(easy, CURLOPT_SSLCERT, $0) } ?? CURLE_OK },
      { request.certificate.map { ruled_curl_set_text(easy, CURLOPT_SSLKEY, $0) } ?? CURLE_OK },
      { request.authorities.map { ruled_curl_set_text(easy, CURLOPT_CAINFO, $0) } ?? CURLE_OK },
    ]
    for step in steps {
      let code = step()
      guard code == CURLE_OK else {
        // Another try meets the same, unless memory was short.
        return code == CURLE_OUT_OF_MEMORY ? Self.outOfMemory : .refused(String(cString: curl_easy_strerror(code)))
      }
    }
    return nil
  }

  private static func setBody(_ easy: UnsafeMutableRawPointer, _ body: ByteView) -> CURLcode {
    guard let start = body.baseAddress, !body.isEmpty else { return ruled_curl_set_body(easy, "", 0) }
    return ruled_curl_set_body(easy, start, curl_off_t(body.count))
  }

  // MARK: The answer

  /// Notes a line of the answer: a status line begins a head, a blank line ends it; trailers come after it.
  private func readHead(_ line: ByteView) {
    if line.starts(with: "HTTP/".utf8) {
      hasHead = false
    } else if line.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
      hasHead = true
    }
  }

  private func keepBody(_ bytes: ByteView) {
    let room = keptBytes - body.count
    if room > 0 { body += bytes.extracting(first: room) }
  }

  func result(of code: CURLcode) -> HTTPResult {
    guard code == CURLE_OK else { return failure(code) }
    // libcurl takes an end within the head for the end of the answer.
    guard hasHead else { return .failed("the answer ended within its head") }
    return .answered(status: Int(ruled_curl_status(easy)), retryAfter: Int(ruled_curl_retry_after(easy)), body: body)
  }

  /// The result of a transfer that ended with an error; libcurl's text says more than its code, except for two faults of the receiver.
  private func failure(_ code: CURLcode) -> HTTPResult {
    if !hasHead, ruled_curl_head_is_too_large(code, errorText) { return .failed("the answer's head is too large") }
    let detail = String(cString: errorText)
    if detail.hasPrefix("select/poll") { return .failed("the receiver has reset the connection") }
    let reason = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    return code == CURLE_URL_MALFORMAT ? .refused(reason) : .failed(reason)
  }

  static var outOfMemory: HTTPResult { .failed(String(cString: curl_easy_strerror(CURLE_OUT_OF_MEMORY))) }
}

/// Passes bytes of the answer to the transfer `context`; returns their number, as libcurl expects.
private func pass(
  _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, to context: UnsafeMutableRawPointer?,
  _ body: (HTTPTransfer, ByteView) -> Void
) -> Int {
  if let bytes, let context {
    body(Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue(), ByteView(start: bytes, count: count))
  }
  return count
}
