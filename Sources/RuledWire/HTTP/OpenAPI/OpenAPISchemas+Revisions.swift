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

  /// The schemas of what is asked and answered about revisions of the rules.
  static var revisions: JSONObject {
    let members: JSONObject = [
      "revision": string, "loaded_at": string, "live": boolean, "pinned": boolean,
      "source": ["enum": ["folder", "stored", "rollout", "promoted"]], "changed": array(of: string),
    ]
    let file = object(["path": string], optional: ["text": string, "hex": string])
    let content: JSONObject = ["configuration": ["type": "object"], "files": array(of: file)]
    return [
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
        "decisions": array(of: ["type": "object"]), "examples": array(of: ["type": "object"]),
      ]),
      "RolloutShare": [
        "type": "object", "additionalProperties": false, "required": ["percent"], "properties": ["percent": percent],
      ],
      "Rollout": object([
        "candidate": string, "percent": ["type": "number"], "subjects": number, "events": number,
        "failures": object(["live": number, "candidate": number]),
        "state": ["enum": ["running", "aborted", "promoted"]], "reason": optionalText,
      ]),
      "Promoted": object(["revision": string, "folder": string, "in_folder": boolean]),
      "Pinned": object(["revision": string, "changed": boolean, "pinned": boolean]),
    ]
  }
}
