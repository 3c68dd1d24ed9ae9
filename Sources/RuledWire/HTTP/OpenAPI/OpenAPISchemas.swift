import RuledCore

/// The schemas of the OpenAPI document, in JSON Schema 2020-12.
///
/// Those of requests are exact, but for lengths: the daemon counts bytes of UTF-8, a schema characters. Those of responses name what is
/// always there; a later version may add members.
enum OpenAPISchemas {
  /// A reference to a schema.
  static func reference(_ name: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(name)")] }

  static var components: JSONObject {
    var schemas = requests
    for member in results { schemas[member.name] = member.value }
    for member in administration { schemas[member.name] = member.value }
    for member in past { schemas[member.name] = member.value }
    for member in revisions { schemas[member.name] = member.value }
    for member in effects { schemas[member.name] = member.value }
    return schemas
  }

  /// Texts without control characters.
  static let plainText = "^[^\\u0000-\\u001F\\u007F-\\u009F]*$"
  static let boolean: JSONValue = ["type": "boolean"]
  static let string: JSONValue = ["type": "string"]
  static let number: JSONValue = ["type": "integer", "minimum": 0]
  static let optionalText: JSONValue = ["type": ["string", "null"]]

  /// An object that has these members, and may have others.
  static func object(_ members: JSONObject, optional: JSONObject = [:]) -> JSONValue {
    var properties = members
    for member in optional { properties[member.name] = member.value }
    return [
      "type": "object", "properties": .object(properties), "required": .array(members.names.map { .string($0) }),
    ]
  }

  static func array(of items: JSONValue) -> JSONValue { ["type": "array", "items": items] }

  private static func objects(of values: JSONValue) -> JSONValue { ["type": "object", "additionalProperties": values] }

  // MARK: Requests

  private static var requests: JSONObject {
    [
      "Name": [
        "type": "string", "minLength": 1, "maxLength": .integer(Int64(Limits.subjectBytes)),
        "pattern": .string(plainText),
        "description": "1 to 256 bytes of UTF-8, without control characters.",
      ],
      "Event": event,
      "Query": [
        "type": "object", "additionalProperties": false,
        "properties": [
          "subject": ["anyOf": [reference("Name"), ["type": "null"]]],
          "args": ["description": "What the query takes; any JSON."],
        ],
      ],
      "Labels": objects(of: ["type": ["string", "number", "boolean", "null"]]),
    ]
  }

  private static var event: JSONValue {
    [
      "type": "object", "required": ["type", "subject"],
      "description": "A CloudEvent 1.0. A member that is null counts as absent. Other members are extensions.",
      "properties": [
        "type": reference("Name"), "subject": reference("Name"),
        "id": [
          "type": ["string", "null"], "minLength": 1, "pattern": .string(plainText),
          "description":
            "With source and subject it identifies the event: a repeat within dedup.window gets the first outcome again.",
        ],
        "source": ["type": ["string", "null"], "pattern": .string(plainText)],
        "specversion": ["enum": ["1.0", nil]],
        "time": ["type": ["string", "null"], "format": "date-time"],
        "data": ["description": "Any JSON."],
        "data_base64": [
          "type": ["string", "null"], "contentEncoding": "base64",
          "pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        ],
        "datacontenttype": optionalText, "dataschema": optionalText,
        "dryrun": ["type": ["boolean", "null"], "description": "Evaluates and answers, and commits nothing."],
        "explain": [
          "enum": [true, false, "without_values", nil],
          "description": "Adds the trace to the outcome, on request without the values of what rules read.",
        ],
        "wait": ["enum": ["cascade", nil], "description": "Answers once all messages that follow are committed."],
      ],
      "patternProperties": ["^[a-z0-9]{1,64}$": ["type": ["string", "number", "boolean", "null"]]],
      "additionalProperties": ["type": "null"],
      "anyOf": [["properties": ["data": ["type": "null"]]], ["properties": ["data_base64": ["type": "null"]]]],
    ]
  }

  // MARK: Results of events

  private static var results: JSONObject {
    let failure = object([
      "plugin": string, "rule": optionalText, "kind": string, "message": string, "file": optionalText,
      "line": ["type": ["integer", "null"]],
    ])
    let effect = object(["id": string, "plugin": string, "sink": string, "type": string, "data": true])
    return [
      "Failure": failure,
      "Outcome": object(
        [
          "subject": reference("Name"), "id": string, "duplicate": boolean, "version": number, "revision": string,
          "decisions": objects(of: ["type": "object"]), "effects": array(of: effect),
          "failures": array(of: reference("Failure")),
        ],
        optional: [
          "differs": ["const": true], "trace": array(of: ["type": "object"]), "cascade": ["const": "pending"],
        ]),
      "Outcomes": array(of: ["oneOf": [reference("Outcome"), reference("Error")]]),
      "Error": object([
        "code": ["type": "integer"], "message": string,
        "data": object(
          ["code": ["enum": .array(RequestError.Code.allCases.map { .string($0.rawValue) })]],
          optional: ["path": string, "detail": string, "retry_after_ms": number]),
      ]),
    ]
  }

  // MARK: Administration

  private static var administration: JSONObject {
    let loadError = object(["file": string, "line": ["type": ["integer", "null"]], "message": string])
    let plugin = object([
      "name": string, "version": string, "about": string, "rules": array(of: string), "queries": array(of: string),
      "runs": number, "failures": number, "p50_us": ["type": "number"], "p99_us": ["type": "number"],
      "suspended": boolean,
      "events": array(
        of: object(["type": string, "about": string, "checked": boolean, "closed": boolean, "data": ["type": "object"]])
      ),
      "args": ["type": "object"],
    ])
    let parked = object([
      "id": string, "plugin": string, "subject": string, "events": array(of: true), "failure": reference("Failure"),
      "at": string, "tries": number,
    ])
    let retried = object(["id": string], optional: ["failure": reference("Failure")])
    let counter = object(["name": string, "labels": ["type": "object"], "value": ["type": "number"]])
    let lists = ["timers", "once", "effects", "parked", "events"].map { ($0, array(of: ["type": "object"])) }
    let state: JSONObject = ["subject": string, "version": number, "plugins": ["type": "object"]]
    return [
      "Subjects": object(["subjects": array(of: string)], optional: ["next": string]),
      "State": object(state, optional: ["at": string, "revision": string]),
      "Export": object(JSONObject(Array(state) + lists)),
      "Forgotten": object([
        "subject": string,
        "forgotten": object([
          "state": number, "timers": number, "effects": number, "parked": number, "events": number,
        ]),
      ]),
      "Rules": object([
        "revision": string, "loaded_at": string, "plugins": array(of: plugin), "errors": array(of: loadError),
      ]),
      "Reloaded": object(["revision": string, "changed": boolean]),
      "ParkedEvents": object(["parked": array(of: parked)], optional: ["next": string]),
      "Retried": object(["retried": number, "succeeded": number, "failed": number, "results": array(of: retried)]),
      "Dropped": object(["dropped": number]), "Counters": array(of: counter),
      "Checkpoint": object(["checkpoint": string, "at": string, "took_ms": number]),
      "Released": object(["released": boolean]), "Ended": object(["ended": boolean]),
      "Health": object([
        "status": ["enum": ["ready", "degraded"]], "revision": string, "store": string, "workers": number,
        "uptime_s": number, "problems": array(of: string),
      ]),
      "Probe": object(
        ["status": ["enum": ["alive", "ready", "degraded", "stopping"]]], optional: ["problems": array(of: string)]),
      "Log": object(
        ["entries": array(of: ["type": "object"]), "gaps": array(of: ["type": "object"]), "last": number],
        optional: ["next": number]),
      "Document": ["type": "object"], "Samples": object(["series": array(of: ["type": "object"])]),
    ]
  }
}
