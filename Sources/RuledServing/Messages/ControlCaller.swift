/// A client that waits for a reply of the control thread, or of the outbox.
struct ControlCaller: Sendable {
  /// The request's id as JSON text, nil for a notification.
  let id: [UInt8]?
  let target: ReplyTarget
}
