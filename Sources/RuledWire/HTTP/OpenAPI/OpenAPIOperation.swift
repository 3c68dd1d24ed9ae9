import RuledCore

/// What one HTTP method of an endpoint does, for the OpenAPI document.
struct OpenAPIOperation {
  /// A name that no other operation has.
  let id: String
  /// What it does, in a few words.
  let summary: String
  /// What else there is to know.
  var text = ""
  /// The request's body; nil for none.
  var body: JSONValue?
  /// The schema of a good response by its content type; empty for a text that is not JSON.
  var content: (type: String, schema: JSONValue)
  /// The content type of what a client gets instead that accepts it; nil for none.
  var otherType: String?
  /// The statuses of errors beside those that every endpoint has.
  var errors: [Int] = []

  /// The description of a method of an endpoint.
  init(_ endpoint: HTTPEndpoint, _ method: String) {
    let operation = Self.of(endpoint, method)
    self =
      method == "HEAD"
      ? OpenAPIOperation(operation.id + "Head", "The same without the body.", operation.content, operation.errors)
      : operation
  }

  private init(
    _ id: String, _ summary: String, _ content: (type: String, schema: JSONValue), _ errors: [Int] = [],
    text: String = "", body: JSONValue? = nil
  ) {
    self.id = id
    self.summary = summary
    self.content = content
    self.errors = errors
    self.text = text
    self.body = body
  }

  private init(_ id: String, _ summary: String, _ schema: String, _ errors: [Int] = [], text: String = "") {
    self.init(id, summary, ("application/json", OpenAPISchemas.reference(schema)), errors, text: text)
  }

  private init(_ id: String, _ summary: String, _ schema: String, takes body: String, _ errors: [Int] = []) {
    self.init(
      id, summary, ("application/json", OpenAPISchemas.reference(schema)), [404, 415, 503] + errors,
      body: ["required": true, "content": ["application/json": ["schema": OpenAPISchemas.reference(body)]]])
  }

  private static func of(_ endpoint: HTTPEndpoint, _ method: String) -> OpenAPIOperation {
    switch endpoint {
    case .events: return events
    case .query: return query
    case .subjects: return OpenAPIOperation("listSubjects", "The subjects, in byte order.", "Subjects")
    case .subject where method == "DELETE":
      return OpenAPIOperation("forgetSubject", "Erases all data on a subject.", "Forgotten", [503])
    case .subject:
      return OpenAPIOperation(
        "showSubject", "A subject's state, now or, for administrators, in the past.", "State", [404, 503])
    case .export: return OpenAPIOperation("exportSubject", "All data on a subject.", "Export", [404, 503])
    case .subjectLog:
      return OpenAPIOperation("listSubjectLog", "What happened to a subject, from the journal.", "Log", [503])
    case .explainPast:
      return OpenAPIOperation(
        "explainPast", "A past event with its tree of rules.", "ExplainedPast", takes: "ExplainPast", [422])
    case .log: return OpenAPIOperation("listLog", "What happened, from the journal.", "Log", [503])
    case .watch:
      return OpenAPIOperation(
        "watch", "Changes as they happen.", ("text/event-stream", ["type": "string"]),
        text: "Server-sent events: `changed` with the sequence as its id, and `lagged` where changes are missing.")
    case .rules: return OpenAPIOperation("showRules", "The rules in force.", "Rules")
    case .reload: return OpenAPIOperation("reloadRules", "Loads the rules again.", "Reloaded", [422, 503])
    case .revisions:
      return OpenAPIOperation("listRevisions", "The revisions of the rules, the latest first.", "Revisions")
    case .revision: return OpenAPIOperation("showRevision", "The sources of a revision.", "RevisionFiles", [404, 503])
    case .rollback:
      return OpenAPIOperation(
        "rollBack", "Puts an earlier revision in force and pins it.", "Pinned", takes: "Rollback", [422])
    case .unpin: return OpenAPIOperation("unpin", "Reads the rules folder again.", "Reloaded", [404, 422, 503])
    case .rollout where method == "POST":
      return OpenAPIOperation("startRollout", "Tries rules on some subjects.", "Rollout", takes: "RolloutStart", [422])
    case .rollout: return OpenAPIOperation("showRollout", "The last rollout.", "Rollout", [404])
    case .backtest:
      var backtest = OpenAPIOperation(
        "backtest", "What other rules would have made of the journal.", "Backtest", takes: "BacktestStart", [422])
      backtest.otherType = "text/html; charset=utf-8"
      backtest.text = "A client that accepts `text/html` gets the report as a page."
      return backtest
    case .shadow where method == "POST":
      return OpenAPIOperation("startShadow", "Lets rules see live events.", "Shadow", takes: "ShadowStart", [422])
    case .shadow: return OpenAPIOperation("showShadow", "What the shadow made otherwise.", "Shadow", [404])
    case .shadowStop: return OpenAPIOperation("stopShadow", "Ends the shadow.", "Shadow", [404])
    case .rolloutSet:
      return OpenAPIOperation("setRollout", "Changes the share of the subjects.", "Rollout", takes: "RolloutShare")
    case .rolloutPromote:
      return OpenAPIOperation("promoteRollout", "Puts the rules in force for all.", "Promoted", [404, 503])
    case .rolloutAbort:
      return OpenAPIOperation("abortRollout", "Gives all subjects back.", "Rollout", [404, 503])
    case .parked:
      return OpenAPIOperation("listParked", "Events that a plugin failed on, with the failure.", "ParkedEvents", [503])
    case .retry: return OpenAPIOperation("retryParked", "Tries a parked event again.", "Retried", [404, 503])
    case .parkedEvent: return OpenAPIOperation("dropParked", "Drops a parked event.", "Dropped", [404, 503])
    case .counters: return OpenAPIOperation("listCounters", "What rules have counted.", "Counters")
    case .effects:
      return OpenAPIOperation("listEffects", "Effects that are not delivered yet.", "Effects", [503])
    case .effect where method == "DELETE":
      return OpenAPIOperation("dropEffect", "Drops an effect.", "DroppedEffects", [404, 503])
    case .effect: return OpenAPIOperation("showEffect", "An effect that is not delivered yet.", "Effect", [404, 503])
    case .resend: return OpenAPIOperation("resendEffect", "Tries an effect again, at once.", "Resent", [404, 503])
    case .resendEffects:
      return OpenAPIOperation("resendEffects", "Tries effects again, at once.", "Resent", takes: "EffectSelection")
    case .dropEffects:
      return OpenAPIOperation("dropEffects", "Drops effects.", "DroppedEffects", takes: "EffectSelection")
    case .lease:
      return OpenAPIOperation("leaseEffects", "Takes effects to deliver them.", "Leases", takes: "Lease")
    case .confirm:
      return OpenAPIOperation(
        "confirmEffects", "Tells what came of leased effects.", "Confirmed", takes: "Confirmation")
    case .backup:
      return OpenAPIOperation(
        "makeCheckpoint", "Makes a checkpoint of the store.", "Checkpoint", [503],
        text:
          "A folder of the daemon's host that a backup is copied from, as 'rulectl backup' does; remove it afterwards.")
    case .release:
      return OpenAPIOperation(
        "releaseEffects", "Lets effects be delivered that are held back since a restore.", "Released", [503])
    case .health: return OpenAPIOperation("showHealth", "The state of the daemon.", "Health")
    case .alive: return OpenAPIOperation("checkLiveness", "Whether the daemon serves.", "Probe")
    case .ready: return OpenAPIOperation("checkReadiness", "Whether the daemon is ready.", "Probe", [503])
    case .metrics:
      return OpenAPIOperation(
        "showMetrics", "The metrics in Prometheus's text format.",
        ("text/plain; version=0.0.4; charset=utf-8", ["type": "string"]))
    case .openapi: return OpenAPIOperation("showAPI", "This document.", "Document")
    case .samples:
      return OpenAPIOperation("showSamples", "The load of the last five minutes and of the last hour.", "Samples")
    case .dashboard:
      return OpenAPIOperation(
        "showDashboard", "The dashboard.", ("text/html; charset=utf-8", ["type": "string"]), [303, 404],
        text: "A browser has a session instead of a token: 'rulectl dashboard' prints a link that begins one.")
    case .session:
      return OpenAPIOperation(
        "endSession", "Ends the browser's session with the dashboard.", "Ended", [404],
        text: "The session is the one that the request's cookie names.")
    case .dashboardFile:
      return OpenAPIOperation("showDashboardFile", "A file of the dashboard.", ("*/*", ["type": "string"]), [404])
    }
  }

  private static var events: OpenAPIOperation {
    let outcome = OpenAPISchemas.reference("Outcome")
    let event: JSONValue = ["schema": OpenAPISchemas.reference("Event")]
    return OpenAPIOperation(
      "sendEvents", "Sends an event, or several.",
      ("application/json", ["oneOf": [outcome, OpenAPISchemas.reference("Outcomes")]]), [415, 503],
      text:
        "An array is answered by an array: an outcome or an error for each event, in their order. In the binary mode of CloudEvents, "
        + "attributes come in `ce-` headers, and the body, of any content type, is the data.",
      body: [
        "required": true,
        "content": [
          "application/json": event, "application/cloudevents+json": event,
          "application/cloudevents-batch+json": ["schema": ["type": "array"]],
        ],
      ])
  }

  private static var query: OpenAPIOperation {
    OpenAPIOperation(
      "query", "Calls a query of a plugin.", ("application/json", true), [404, 415, 500, 503],
      text: "The answer is what the query returns.",
      body: ["content": ["application/json": ["schema": OpenAPISchemas.reference("Query")]]])
  }
}
