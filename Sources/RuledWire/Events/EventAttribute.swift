import RuledCore
import RuledJSON

/// The attributes of an event that the daemon knows by name; `other` is every other one.
enum EventAttribute: Int, CaseIterable {
  case type, subject, id, source, specversion, time, data
  case dataBase64, dataContentType, dataSchema
  case dryRun, explain, wait, `internal`
  case other

  init(_ name: ByteView) {
    let candidate = Self.candidate(name)
    self = name.equals(candidate.name) ? candidate : .other
  }

  /// The only attribute that can be called `name`, by its length and its first letters.
  private static func candidate(_ name: ByteView) -> Self {
    switch name.count {
    case 2: return .id
    case 4:
      switch name[0] {
      case UInt8(ascii: "t"): return name[1] == UInt8(ascii: "y") ? .type : .time
      case UInt8(ascii: "d"): return .data
      default: return .wait
      }
    case 6: return name[0] == UInt8(ascii: "s") ? .source : .dryRun
    case 7: return name[0] == UInt8(ascii: "s") ? .subject : .explain
    case 8: return .internal
    case 10: return .dataSchema
    case 11: return name[0] == UInt8(ascii: "s") ? .specversion : .dataBase64
    case 15: return .dataContentType
    default: return .other
    }
  }

  /// Whether the daemon stores the attribute and does not interpret it.
  var isStored: Bool {
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
    case .internal: "internal"
    case .other: ""
    }
  }
}

/// The known attributes of an event while it is read; of repeated ones the last counts, and null is absent.
struct EventAttributes {
  /// The index of each attribute's value on the tape, 0 for an absent one.
  private var indices = SIMD16<Int32>(repeating: 0)
  private let object: TapeValue

  /// The attributes of `object`, before any member of it was read.
  init(of object: TapeValue) { self.object = object }

  mutating func set(_ attribute: EventAttribute, _ value: TapeValue) {
    indices[attribute.rawValue] = value.isKind(.null) ? 0 : Int32(truncatingIfNeeded: value.index)
  }

  subscript(attribute: EventAttribute) -> TapeValue? {
    let index = Int(indices[attribute.rawValue])
    return index == 0 ? nil : object.value(at: index)
  }
}
