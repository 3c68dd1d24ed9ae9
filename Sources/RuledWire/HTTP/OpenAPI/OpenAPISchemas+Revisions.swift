import RuledCore

extension OpenAPISchemas {
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
      "Pinned": object(["revision": string, "changed": boolean, "pinned": boolean]),
    ]
  }
}
