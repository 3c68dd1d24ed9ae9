/// A request that a handler asks for.
struct HandlerRequest: Sendable {
  /// Where to; nil is the URL that the sink is configured with.
  var url: String?
  /// The method, in capital letters.
  var method = "POST"
  /// The headers, as the handler names them.
  var headers: [(name: String, value: String)] = []
  /// The body.
  var body: [UInt8] = []
}
