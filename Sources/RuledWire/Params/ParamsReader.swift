import RuledCore

/// Takes members out of a request's params, which must be an object; those that nobody asks for are ignored.
struct ParamsReader {
  private let object: TapeValue?

  /// A reader of the request's params; no params are an empty object.
  init(_ request: RequestView) throws(RequestError) {
    object = request.params
    if let object, object.kind != .object { throw .invalidParams(path: "params", "must be an object") }
  }

  /// The member, or nil if it is absent or null.
  func value(_ name: StaticString) -> TapeValue? { object?.member(name) }

  /// Whether the member is there.
  func has(_ name: StaticString) -> Bool { value(name) != nil }

  /// An optional string.
  func string(_ name: StaticString) throws(RequestError) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.text else { throw error(name, "must be a string") }
    return text
  }

  /// A required string that is not empty.
  func required(_ name: StaticString) throws(RequestError) -> String {
    guard let text = try string(name) else { throw error(name, "is required") }
    guard !text.isEmpty else { throw error(name, "must not be empty") }
    return text
  }

  /// An optional subject.
  func subject() throws(RequestError) -> UnsafeRawBufferPointer? {
    guard let value = value("subject") else { return nil }
    return try EventChecks.name(value, "params", "subject", limit: Limits.subjectBytes)
  }

  /// A required subject.
  func requiredSubject() throws(RequestError) -> UnsafeRawBufferPointer {
    try EventChecks.name(value("subject"), "params", "subject", limit: Limits.subjectBytes)
  }

  /// An optional whole number of `range`.
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
    .invalidParams(path: JSONPath.member("params", name), detail)
  }
}
