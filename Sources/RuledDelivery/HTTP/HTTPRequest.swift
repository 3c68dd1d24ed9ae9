internal import CCurl

struct HTTPRequest {
  /// The receiver, an `http` or `https` URL.
  var url: String
  var method = "POST"
  var headers: [(name: String, value: String)] = []
  var body: [UInt8] = []
  /// The file with the client's certificate and its key, if the client has one.
  var certificate: String?
  /// The file with the authorities that the receiver's certificate is checked against; nil for the system's.
  var authorities: String?
  /// The most bytes of the answer's body to keep.
  var keptBytes = 0
}

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
