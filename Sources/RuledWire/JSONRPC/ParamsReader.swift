package import RuledCore
import RuledJSON

/// Reads members of a request's params, which must be an object with no members but those of the request's method.
struct ParamsReader {
  private let object: TapeValue?
  private let path: String

  /// A reader of the request's params; absent params are an empty object.
  init(_ request: RequestView) throws(RequestError) {
    object = request.params
    path = "params"
    try object?.checkMembers(at: path, known: request.method.members)
  }

  /// A reader of an object within the params, which has no members but `known`.
  init(_ object: TapeValue, at path: String, known: [StaticString]) throws(RequestError) {
    self.object = object
    self.path = path
    try object.checkMembers(at: path, known: known)
  }

  /// The member, or nil if it is absent or null.
  func value(_ name: StaticString) -> TapeValue? { object?.member(name) }

  func has(_ name: StaticString) -> Bool { value(name) != nil }

  func string(_ name: StaticString) throws(RequestError) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.text else { throw error(name, "must be a string") }
    return text
  }

  func boolean(_ name: StaticString) throws(RequestError) -> Bool? {
    guard let value = value(name) else { return nil }
    guard let bool = value.bool else { throw error(name, "must be true or false") }
    return bool
  }

  func strings(_ name: StaticString) throws(RequestError) -> [String]? {
    guard let value = value(name) else { return nil }
    guard value.kind == .array else { throw error(name, "must be an array of strings") }
    var texts: [String] = []
    for element in value.children {
      guard let text = element.text else {
        throw .invalidParams(path: "\(JSONPath.member(path, name))[\(texts.count)]", "must be a string")
      }
      texts.append(text)
    }
    return texts
  }

  /// A required string that is not empty.
  func required(_ name: StaticString) throws(RequestError) -> String {
    guard let text = try string(name) else { throw error(name, "is required") }
    guard !text.isEmpty else { throw error(name, "must not be empty") }
    return text
  }

  func subject() throws(RequestError) -> ByteView? {
    guard let value = value("subject") else { return nil }
    return try EventChecks.name(value, "params", "subject", limit: Limits.subjectBytes)
  }

  func subjectText() throws(RequestError) -> String? { try subject()?.text }

  func requiredSubjectText() throws(RequestError) -> String {
    guard let subject = try subjectText() else { throw error("subject", "is required") }
    return subject
  }

  func moment(_ name: StaticString) throws(RequestError) -> LogParams.Moment? {
    let form = "a duration like \"2h\", or a time in RFC 3339, like \"2025-11-10T12:34:56Z\""
    return try parsed(name, form) { LogParams.Moment($0) }
  }

  /// The value of an optional string, as `parse` reads it; errors say what `form` it must have.
  func parsed<Value>(
    _ name: StaticString, _ form: String, _ parse: (String) -> Value?
  ) throws(RequestError) -> Value? {
    guard let text = try string(name) else { return nil }
    guard let value = parse(text) else { throw error(name, "must be \(form)") }
    return value
  }

  func integer(_ name: StaticString, in range: ClosedRange<Int64>) throws(RequestError) -> Int64? {
    guard let value = value(name) else { return nil }
    guard let number = value.integer, range.contains(number) else {
      let bound =
        range.upperBound == .max ? "of \(range.lowerBound) or more" : "from \(range.lowerBound) to \(range.upperBound)"
      throw error(name, "must be a whole number \(bound)")
    }
    return number
  }

  /// How long a list may get: 100 unless asked for, 1,000 at most.
  func limit() throws(RequestError) -> Int {
    Int(try integer("limit", in: 1...Int64(Limits.listMaximum)) ?? Int64(Limits.listDefault))
  }

  /// `invalid_params` at a member.
  func error(_ name: StaticString, _ detail: String) -> RequestError {
    .invalidParams(path: JSONPath.member(path, name), detail)
  }
}

extension TapeValue {
  /// Throws `invalid_params` unless this is an object with no members but `known`.
  package func checkMembers(at path: String, known: [StaticString]) throws(RequestError) {
    guard kind == .object else { throw .invalidParams(path: path, "must be an object") }
    var members = members
    while let member = members.next() {
      guard !known.contains(where: { member.name.equals($0) }) else { continue }
      throw .unknownMember(member.name, of: path, known: known.map(\.description))
    }
  }
}

extension RequestError {
  /// `invalid_params` at an unknown member, with the known one that was probably meant.
  package static func unknownMember(_ name: ByteView, of parent: String, known: [String]) -> RequestError {
    let all = known.isEmpty ? "there are none" : "known are \(known.joined(separator: ", "))"
    let hint = NearestName.hint(name.text, in: known, otherwise: all) { "“\($0)”" }
    return .invalidParams(path: JSONPath.member(parent, name), "is unknown\(hint)")
  }
}
