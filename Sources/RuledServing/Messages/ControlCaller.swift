/// A client that waits for a reply of the control thread, or of the outbox.
struct ControlCaller: Sendable {
  /// The request's id as JSON text, nil for a notification.
  let id: [UInt8]?
  let target: ReplyTarget
  /// Whether the reply shows committed values: a node of a cluster needs its lease for that.
  var isRead = false
}
