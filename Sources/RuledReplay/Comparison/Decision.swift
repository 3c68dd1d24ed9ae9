import RuledCore

struct DecisionName: Hashable, Sendable {
  var plugin: String
  var key: ExactName
}

struct Decision {
  var name: DecisionName
  /// Its value as JSON.
  var value: [UInt8]
  /// The numbers in its value, each with the path to it.
  var numbers: [(path: String, value: Double)]

  /// The value as it is listed: one that is longer than a report can show is a string of its beginning.
  var shown: [UInt8] {
    guard value.count > Self.mostShown else { return value }
    let buffer = ByteBuffer(capacity: Self.mostShown + 64)
    buffer.append(jsonString: String(decoding: value.prefix(Self.mostShown - 64), as: UTF8.self) + "…")
    return Array(buffer.bytes)
  }

  private static let mostShown = 1024
}
