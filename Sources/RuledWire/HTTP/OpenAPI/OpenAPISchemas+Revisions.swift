import RuledCore

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
        ],
      ],
      "Backtest": object([
        "range": object(["since": optionalText, "until": optionalText, "first": number, "last": number]),
        "events": number, "subjects": number, "gaps": things, "baseline": string, "candidate": string,
        "fidelity": object(["replayed": number, "equal": number, "different": things]),
        "outcomes": object(["equal": number, "changed": number]), "decisions": things, "effects": things,
        "messages": sides, "timers": sides, "failures": object(["before": number, "after": number, "kinds": things]),
        "states": object(["equal": number, "changed": number]), "rules": things, "most_changed": things,
        "exceeded": array(of: string),
      ]),
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
