/// The attributes of an event that the daemon knows by name, and all others.
enum EventAttribute: Int, CaseIterable {
  case type, subject, id, source, specversion, time, data
  case dataBase64, dataContentType, dataSchema
  case dryRun, explain, wait
  case other

  /// The attribute called `name`.
  init(_ name: UnsafeRawBufferPointer) {
    self =
      switch name.count {
      case 2: Self.match(name, .id)
      case 4: Self.match(name, .type, .time, .data, .wait)
      case 6: Self.match(name, .source, .dryRun)
      case 7: Self.match(name, .subject, .explain)
      case 10: Self.match(name, .dataSchema)
      case 11: Self.match(name, .specversion, .dataBase64)
      case 15: Self.match(name, .dataContentType)
      default: .other
      }
  }

  /// Whether the name has to match the pattern of extensions.
  var isExtension: Bool { self == .other }

  /// Whether the attribute is kept without meaning to the daemon.
  var isKept: Bool {
    switch self {
    case .dataBase64, .dataContentType, .dataSchema, .other: true
    default: false
    }
  }

  private var name: StaticString {
    switch self {
    case .type: "type"
    case .subject: "subject"
    case .id: "id"
    case .source: "source"
    case .specversion: "specversion"
    case .time: "time"
    case .data: "data"
    case .dataBase64: "data_base64"
    case .dataContentType: "datacontenttype"
    case .dataSchema: "dataschema"
    case .dryRun: "dryrun"
    case .explain: "explain"
    case .wait: "wait"
    case .other: ""
    }
  }

  /// The first of the attributes that is called `name`; written out so that nothing is allocated.
  private static func match(
    _ name: UnsafeRawBufferPointer, _ first: Self, _ second: Self = .other, _ third: Self = .other,
    _ fourth: Self = .other
  ) -> Self {
    if name.equals(first.name) { return first }
    if name.equals(second.name) { return second }
    if name.equals(third.name) { return third }
    return name.equals(fourth.name) ? fourth : .other
  }
}
