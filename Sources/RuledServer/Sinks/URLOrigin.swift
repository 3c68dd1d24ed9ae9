internal import CCurl

/// Where a URL leads, as libcurl itself reads it: what may be told to one origin may not be told to another.
struct URLOrigin: Equatable {
  private let scheme: String
  private let host: String
  private let port: String

  /// The origin of a URL; nil when it is none, or neither `http` nor `https`.
  init?(_ url: String) {
    guard let handle = curl_url() else { return nil }
    defer { curl_url_cleanup(handle) }
    guard curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK,
      let scheme = Self.part(handle, CURLUPART_SCHEME), let host = Self.part(handle, CURLUPART_HOST),
      let port = Self.part(handle, CURLUPART_PORT), scheme == "http" || scheme == "https"
    else { return nil }
    self.scheme = scheme
    self.host = host.lowercased()
    self.port = port
  }

  private static func part(_ handle: OpaquePointer, _ part: CURLUPart) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
