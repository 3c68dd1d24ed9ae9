package import RuledCore
import RuledJSON

/// Events that plugins fail on, and their parked parts.
extension LocalEngine {
  /// The message of the failures that a test asked for.
  package static let wantedFailure = "the test lets the plugin fail"

  /// Has a plugin fail on the next event of a subject without being run, as if its time had run out.
  package func fail(_ plugin: String, onNextEventOf subject: String) {
    failing[Array(subject.utf8), default: []].append(Failure(plugin: plugin, kind: .time, message: Self.wantedFailure))
  }

  /// Calls `body`, which evaluates an event of the subject, and imposes the subject's failures on it.
  func imposing(on subject: [UInt8], _ body: () throws(RequestError) -> Void) throws(RequestError) {
    guard !failing.isEmpty, let failures = failing.removeValue(forKey: subject) else { return try body() }
    try evaluator.imposing(failures, body)
  }

  /// Tries a plugin's parked parts of a subject again, in order; only the event with `id`, if there is one.
  ///
  /// A part that fails again stays parked, and its failure is among `takeFailures`.
  ///
  /// - Returns: how many events were tried.
  package func retry(_ plugin: String, of subject: String, event id: String? = nil) throws(RequestError) -> Int {
    let parked = try StoreListing.parked(context, plugin: plugin, after: nil, limit: .max).parked.filter { entry in
      entry["subject"]?.stringValue == subject
        && (id == nil || entry["events"]?.arrayValue?.first?["id"]?.stringValue == id)
    }
    for entry in parked {
      guard let key = entry["id"]?.stringValue.flatMap({ ParkedKey(text: $0) }) else { continue }
      if case .failed(let failure)? = try evaluator.retry(key) {
        let type = entry["events"]?.arrayValue?.first?["type"]?.stringValue ?? ""
        failures.append(ConsequentFailure(failure: failure.json, type: type, subject: subject))
      }
      _ = takeRecorded()
      try runUntilIdle()
    }
    return parked.count
  }
}
