import RuledCore

extension OpenAPISchemas {
  /// The schemas of what is asked and answered about effects.
  static var effects: JSONObject {
    [
      "EffectSelection": ["oneOf": [selected("id", byID), selected("keys", byKeys), selected("sink", bySink)]],
      "Lease": lease, "Confirmation": confirmation,
      "Effect": object(["id": string, "plugin": string, "sink": string, "type": string, "subject": string]),
      "Effects": object(["effects": array(of: reference("Effect"))], optional: ["next": string]),
      "Resent": object(["resent": number]), "DroppedEffects": object(["dropped": number]),
      "Leases": object(["leases": array(of: object(["lease": string, "tries": number, "effect": ["type": "object"]]))]),
      "Confirmed": object(["confirmed": number, "unknown": array(of: string)]),
    ]
  }

  private static let text: JSONValue = ["type": "string", "minLength": 1]

  /// An object that selects effects by one member, and has others that belong to it or are not read.
  private static func selected(_ name: String, _ members: JSONObject) -> JSONValue {
    var properties: JSONObject = [
      "id": ["type": "null"], "keys": ["type": "null"], "sink": ["type": "null"], "subject": true, "status": true,
    ]
    for member in members { properties[member.name] = member.value }
    return [
      "type": "object", "additionalProperties": false, "properties": .object(properties),
      "required": .array([.string(name)] + (name == "sink" ? ["status"] : [])),
    ]
  }

  private static var byID: JSONObject {
    ["id": text, "subject": ["anyOf": [reference("Name"), ["type": "null"]]]]
  }

  private static var byKeys: JSONObject {
    ["keys": ["type": "array", "minItems": 1, "maxItems": .integer(Int64(Limits.listMaximum)), "items": string]]
  }

  private static var bySink: JSONObject { ["sink": text, "status": ["const": "failed"]] }

  private static func integer(_ range: ClosedRange<Int64>) -> JSONValue {
    ["type": ["integer", "null"], "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
  }

  private static var lease: JSONValue {
    [
      "type": "object", "additionalProperties": false,
      "properties": [
        "sink": ["type": ["string", "null"], "minLength": 1],
        "sinks": ["type": ["array", "null"], "minItems": 1, "items": string],
        "limit": integer(1...Int64(Limits.listMaximum)), "seconds": integer(1...Limits.leaseSeconds),
        "wait": integer(0...Limits.leaseWaitSeconds),
      ],
      "oneOf": [
        ["required": ["sink"], "properties": ["sink": string, "sinks": ["type": "null"]]],
        ["required": ["sinks"], "properties": ["sinks": ["type": "array"], "sink": ["type": "null"]]],
      ],
    ]
  }

  private static var confirmation: JSONValue {
    [
      "type": "object", "additionalProperties": false, "required": ["leases"],
      "properties": [
        "leases": [
          "type": "array", "maxItems": .integer(Int64(Limits.listMaximum)),
          "items": ["oneOf": [result("delivered"), result("retry"), result("give_up")]],
        ]
      ],
    ]
  }

  /// What came of a lease; members that do not belong to it are not read.
  private static func result(_ name: String) -> JSONValue {
    var properties: JSONObject = [
      "lease": text, "result": ["const": .string(name)], "error": true, "status": true, "body": true,
      "retry_after_s": true, "hold": true,
    ]
    if name != "delivered" {
      properties["error"] = optionalText
      properties["body"] = optionalText
      properties["status"] = integer(100...999)
    }
    if name == "retry" {
      properties["retry_after_s"] = integer(0...86_400)
      properties["hold"] = ["type": ["boolean", "null"]]
    }
    return [
      "type": "object", "additionalProperties": false, "required": ["lease", "result"],
      "properties": .object(properties),
    ]
  }
}

extension OpenAPISchemas {
  private static let percent: JSONValue = ["type": "number", "minimum": 0, "maximum": 100]
  private static let abortOn: JSONValue = [
    "type": ["string", "null"], "pattern": "^ *failures *> *[0-9]+(\\.[0-9]+)?%? *$",
  ]

  /// The files of a rules folder.
  private static var rules: JSONValue {
    let file: JSONValue = [
      "type": "object", "properties": ["path": string, "text": string, "hex": string], "required": ["path"],
    ]
    let plugin = object(
      ["name": string], optional: ["modules": array(of: file), "data": array(of: file)])
    return object(["plugins": array(of: plugin)], optional: ["library": array(of: file)])
  }

  /// The run times of both sides' plugins.
  private static var runTimes: JSONValue {
    let side: JSONValue = [
      "type": ["object", "null"],
      "properties": ["measured": number, "p50_us": ["type": "number"], "p99_us": ["type": "number"]],
    ]
    return array(of: object(["plugin": string, "live": side, "candidate": side]))
  }

  /// What a backtest takes and answers.
  private static var backtest: JSONObject {
    let moment: JSONValue = [
      "type": ["string", "null"], "description": "A time of RFC 3339, or how long ago, such as 7d.",
    ]
    let texts: JSONValue = ["type": ["array", "null"], "items": string]
    let sides = object(["before": number, "after": number])
    let things = array(of: ["type": "object"])
    return [
      "BacktestStart": [
        "type": "object", "additionalProperties": false, "required": ["rules"],
        "properties": [
          "rules": rules, "plugins": texts, "since": moment, "until": moment, "subjects": optionalText,
          "sample": optionalText, "fail_on": texts,
          "html": ["type": ["boolean", "null"], "description": "Adds the report as a page."],
        ],
      ],
      "Backtest": object(
        [
          "range": object(["since": optionalText, "until": optionalText, "first": number, "last": number]),
          "events": number, "subjects": number, "gaps": things, "baseline": string, "candidate": string,
          "fidelity": object(["replayed": number, "equal": number, "different": things]),
          "outcomes": object(["equal": number, "changed": number]), "decisions": things, "effects": things,
          "messages": sides, "timers": sides, "failures": object(["before": number, "after": number, "kinds": things]),
          "states": object(["equal": number, "changed": number]), "rules": things, "most_changed": things,
          "other_states": things,
          "exceeded": array(of: string),
        ], optional: ["html": string]),
    ]
  }

  /// The schemas of what is asked and answered about revisions of the rules.
  static var revisions: JSONObject {
    let members: JSONObject = [
      "revision": string, "loaded_at": string, "live": boolean, "pinned": boolean,
      "source": ["enum": ["folder", "stored", "rollout", "promoted"]], "changed": array(of: string),
    ]
    let file = object(["path": string], optional: ["text": string, "hex": string])
    let content: JSONObject = ["configuration": ["type": "object"], "files": array(of: file)]
    let schemas: JSONObject = [
      "Revisions": array(of: object(members)), "RevisionFiles": object(JSONObject(Array(members) + Array(content))),
      "Rollback": [
        "type": "object", "additionalProperties": false,
        "properties": ["revision": ["type": ["string", "null"], "minLength": 1]],
      ],
      "RolloutStart": [
        "type": "object", "additionalProperties": false, "required": ["rules", "percent"],
        "properties": ["rules": rules, "percent": percent, "abort_on": abortOn],
      ],
      "ShadowStart": [
        "type": "object", "additionalProperties": false, "required": ["rules"],
        "properties": [
          "rules": rules, "plugins": ["type": ["array", "null"], "items": string],
          "percent": ["type": ["number", "null"], "minimum": 0, "maximum": 100],
        ],
      ],
      "Shadow": object([
        "candidate": string, "since": string, "percent": ["type": "number"], "events": number, "skipped": number,
        "subjects": number, "outcomes": object(["equal": number, "changed": number]),
        "behind_s": ["type": ["number", "null"]], "run_times": runTimes, "decisions": array(of: ["type": "object"]),
        "examples": array(of: ["type": "object"]),
      ]),
      "RolloutShare": [
        "type": "object", "additionalProperties": false, "required": ["percent"], "properties": ["percent": percent],
      ],
      "Rollout": object(
        [
          "candidate": string, "percent": ["type": "number"], "subjects": number, "events": number,
          "failures": object(["live": number, "candidate": number]),
          "state": ["enum": ["running", "aborted", "promoted"]], "reason": optionalText,
        ], optional: ["run_times": runTimes]),
      "Promoted": object(["revision": string, "folder": string, "in_folder": boolean]),
      "Pinned": object(["revision": string, "changed": boolean, "pinned": boolean]),
    ]
    return JSONObject(Array(schemas) + Array(backtest))
  }
}

extension OpenAPISchemas {
  /// The schemas of what is asked and answered about the past of a subject.
  static var past: JSONObject {
    let outcome: JSONValue = ["type": ["object", "null"]]
    return [
      "ExplainPast": [
        "type": "object", "additionalProperties": false, "required": ["subject", "id"],
        "properties": [
          "subject": reference("Name"), "id": ["type": "string", "minLength": 1],
          "rules": ["type": ["object", "null"], "description": "The content of a rules folder to compare with."],
          "no_values": [
            "type": ["boolean", "null"], "description": "Leaves out the state and the values of what rules read.",
          ],
        ],
      ],
      "ExplainedPast": object(
        [
          "sequence": number, "at": string, "now": string, "subject": string, "origin": string,
          "event": ["type": "object"], "revision": string, "outcome": outcome,
        ],
        optional: [
          "state": ["type": "object"], "recorded": ["type": "object"], "differs": string,
          "other": object(["revision": string, "outcome": outcome]),
        ]),
    ]
  }
}
