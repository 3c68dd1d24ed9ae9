/// A request to be sent.
struct HTTPRequest {
  /// Where to: `http` or `https`.
  var url: String
  /// The method, in capital letters.
  var method = "POST"
  /// The headers.
  var headers: [(name: String, value: String)] = []
  /// The body.
  var body: [UInt8] = []
}
