internal import RuledCore

/// Advice on a request without a reply, as the daemon closed the connection.
enum LostReply {
  /// The methods besides `event` that change something.
  private static let changing: Set<String> = [
    "forget", "reload", "retry", "drop", "clock", "release", "resend", "drop_effects", "rollback", "unpin",
    "shadow_start", "shadow_stop", "cluster_drain", "cluster_undrain", "rollout_start",
    "rollout_set", "rollout_promote", "rollout_abort",
  ]

  /// A note that the request may have taken effect, with the way to send an event again; nil if it changes nothing.
  static func note(on method: String, _ params: JSONValue) -> String? {
    guard method == "event" else {
      return changing.contains(method) ? "it is not known whether '\(method)' took effect" : nil
    }
    if params.member("dryrun")?.boolValue ?? false { return nil }
    let unknown = "it is not known whether the event was applied"
    guard params.member("id") != nil else {
      return "\(unknown), and as it had no --id, sending it again may apply it twice"
    }
    let same = params.member("source") == nil ? "--id" : "--id and --source"
    return "\(unknown); send it again with the same \(same): the daemon finds the first outcome, and applies it once"
  }
}
