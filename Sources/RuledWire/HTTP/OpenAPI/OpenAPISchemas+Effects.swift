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
