internal import CCurl
import Glibc
import RuledCore
import RuledStore

/// One attempt at a request: libcurl's easy handle with its buffers; the signature is libcurl's.
final class ObjectTransfer {
  enum Result {
    case answered(ObjectAnswer)
    /// There was no whole answer; another attempt may get one unless `isFinal`.
    case failed(String, isFinal: Bool)
  }

  /// The handle; it must have left the multi handle before the transfer is released.
  let easy: UnsafeMutableRawPointer
  private let request: ObjectRequest
  /// Takes the body of a successful answer; nil to keep the body.
  private let receiver: FileReceiver?
  private var headers: UnsafeMutablePointer<curl_slist>?
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  /// The bytes of the request's body that libcurl has taken.
  private var sent = 0
  /// The bytes of the body sent or received so far.
  private(set) var count = 0
  /// Whether a part of the answer's body came.
  private var hasBody = false
  /// The kept body of the answer.
  private var body: [UInt8] = []
  /// Why a callback ended the transfer.
  private(set) var problem: StoreError?

  /// The longest body to keep: 1,000 names of objects are at most 2 MiB.
  private static let longestBody = 4 << 20
  /// A transfer that moves less than so many bytes a second for so many seconds has stalled.
  private static let (slowest, stallSeconds) = (1_000, 30)

  /// A transfer of a request to a bucket; nil without memory for it.
  init?(_ request: ObjectRequest, to bucket: ObjectBucket, _ credentials: ObjectCredentials, receiver: FileReceiver?) {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    self.request = request
    self.receiver = receiver
    errorText.pointee = 0
    // The store refuses a body with another digest, so that it keeps the bytes as they were read from the disk.
    var lines = ["x-amz-content-sha256: \(request.digest)"]
    if let token = credentials.sessionToken { lines.append("x-amz-security-token: \(token)") }
    for line in lines {
      guard let longer = curl_slist_append(headers, line) else { return nil }
      headers = longer
    }
    guard configure(bucket, credentials) else { return nil }
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(headers)
    errorText.deallocate()
  }

  private func configure(_ bucket: ObjectBucket, _ credentials: ObjectCredentials) -> Bool {
    let (easy, errorText, headers) = (easy, errorText, headers)
    let context = Unmanaged.passUnretained(self).toOpaque()
    let bytes = curl_off_t(request.bodyBytes)
    let (url, method) = (request.url, request.method)
    let steps: [() -> CURLcode] = [
      { ruled_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https") },
      { ruled_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)) },
      { ruled_curl_set_text(easy, CURLOPT_URL, url) },
      {
        guard method == "PUT" else { return ruled_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, method) }
        return ruled_curl_set_upload(
          easy, bytes,
          { transfer($3)?.send(UnsafeMutableRawBufferPointer(start: $0, count: $1 * $2)) ?? Int(CURL_READFUNC_ABORT) },
          { context, offset, origin in
            guard origin == SEEK_SET, let transfer = transfer(context) else { return Int32(CURL_SEEKFUNC_FAIL) }
            transfer.sent = Int(offset)
            return Int32(CURL_SEEKFUNC_OK)
          }, context)
      },
      { ruled_curl_set_text(easy, CURLOPT_AWS_SIGV4, "aws:amz:\(bucket.region):s3") },
      { ruled_curl_set_text(easy, CURLOPT_USERNAME, credentials.keyID) },
      { ruled_curl_set_text(easy, CURLOPT_PASSWORD, credentials.secret) },
      { ruled_curl_set_headers(easy, headers) },
      { ruled_curl_set_text(easy, CURLOPT_USERAGENT, "ruled") },
      { ruled_curl_set_long(easy, CURLOPT_NOSIGNAL, 1) },
      { ruled_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, 10_000) },
      { ruled_curl_set_long(easy, CURLOPT_LOW_SPEED_LIMIT, Self.slowest) },
      { ruled_curl_set_long(easy, CURLOPT_LOW_SPEED_TIME, Self.stallSeconds) },
      {
        ruled_curl_set_write(
          easy, { transfer($3)?.receive(ByteView(start: $0, count: $1 * $2)) == true ? $1 * $2 : 0 }, context)
      },
      { ruled_curl_set_error_text(easy, errorText) },
      { bucket.authority.map { ruled_curl_set_text(easy, CURLOPT_CAINFO, $0) } ?? CURLE_OK },
    ]
    return steps.allSatisfy { $0() == CURLE_OK }
  }

  // MARK: Callbacks

  /// Gives libcurl the next bytes of the body; nil to end the transfer.
  private func send(_ room: UnsafeMutableRawBufferPointer) -> Int? {
    let wanted = min(room.count, request.bodyBytes - sent)
    switch request.body {
    case .none: return 0
    case .bytes(let bytes): room.copyBytes(from: bytes[sent..<(sent + wanted)])
    case .file(let descriptor, _):
      let done = moveWhole(wanted) { done in
        pread(descriptor, room.baseAddress.map { $0 + done }, wanted - done, off_t(sent + done))
      }
      guard done == wanted else {
        problem = StoreError(
          .inputOutput, "a file of the snapshot can't be read", underlying: String(cString: strerror(errno)))
        return nil
      }
    }
    sent += wanted
    count = max(count, sent)
    return wanted
  }

  /// Takes bytes of the answer's body; false to end the transfer.
  private func receive(_ bytes: ByteView) -> Bool {
    hasBody = true
    guard let receiver, ruled_curl_status(easy) == 200 else {
      guard body.count + bytes.count <= Self.longestBody else { return false }
      body += bytes
      return true
    }
    do throws(StoreError) {
      try receiver.append(bytes)
      count += bytes.count
      return true
    } catch {
      problem = error
      return false
    }
  }

  // MARK: The result

  func result(of code: CURLcode) -> Result {
    if code == CURLE_OK {
      let answer = ObjectAnswer(
        status: Int(ruled_curl_status(easy)), retryAfter: Int(ruled_curl_retry_after(easy)), body: body)
      return .answered(answer)
    }
    if !hasBody, ruled_curl_head_is_too_large(code, errorText) {
      return .failed("the answer's head is too large", isFinal: true)
    }
    // libcurl's own text on these errors says more than the code; on others it has times that differ each time.
    let hasDetails = [CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE].contains(code)
    let detail = hasDetails ? String(cString: errorText) : ""
    let isFinal = [
      CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL,
      CURLE_NOT_BUILT_IN,
    ].contains(code)
    return .failed(detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail, isFinal: isFinal)
  }
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> ObjectTransfer? {
  context.map { Unmanaged<ObjectTransfer>.fromOpaque($0).takeUnretainedValue() }
}
