import RuledCore

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
        ],
      ],
      "ExplainedPast": object(
        [
          "sequence": number, "at": string, "now": string, "subject": string, "origin": string,
          "event": ["type": "object"], "revision": string, "state": ["type": "object"], "outcome": outcome,
        ], optional: ["other": object(["revision": string, "outcome": outcome])]),
    ]
  }
}
