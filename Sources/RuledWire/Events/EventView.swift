package import RuledCore
package import RuledJSON

/// The CloudEvent of a request, checked; everything in it is valid until its document parses again.
package struct EventView {
  /// 1 to 256 bytes.
  package private(set) var type = ByteView.empty
  /// Whom it happened to; 1 to 256 bytes.
  package private(set) var subject = ByteView.empty
  /// The system that sends the event; may be empty.
  package private(set) var source = ByteView.empty
  /// The event's id, or nil if one is to be made.
  package private(set) var id: ByteView?
  /// When it happened, or nil for the time of receipt.
  package private(set) var time: Timestamp?
  /// The data, or nil if it is absent or null.
  package private(set) var data: TapeValue?
  package private(set) var isDryRun = false
  /// Whether the reply is to have the trace.
  package private(set) var isExplained = false
  /// Whether the trace has the values that rules read.
  package private(set) var explainsValues = true
  /// Whether the reply waits for the messages that the event causes.
  package private(set) var waitsForCascade = false
  /// Whether an administrator sends it in the place of rules, as it says.
  package private(set) var isInternal = false
  package private(set) var hasExtensions = false
  /// The text of the whole event as sent.
  package let text: ByteView

  package let object: TapeValue

  /// Reads and checks the event in `value`.
  ///
  /// - Parameters:
  ///   - value: The event's object.
  ///   - text: The object's text as sent.
  ///   - path: The name of the object in errors.
  /// - Throws: `invalid_params` with the path of the member that is wrong.
  package init(_ value: TapeValue?, text: ByteView, path: String = "params") throws(RequestError) {
    guard let value, value.isKind(.object) else { throw .invalidParams(path: path, "must be an object") }
    try EventChecks.size(value, path)
    self.text = text.trimmedJSON
    object = value
    var attributes = EventAttributes(of: value)
    var members = value.members
    while let member = members.next() {
      let kind = EventAttribute(member.name)
      attributes.set(kind, member.value)
      if kind.isStored, !member.value.isKind(.null) {
        if kind == .other { try EventChecks.extension(member.name, member.value, path) }
        hasExtensions = true
      }
    }
    try read(attributes, path)
  }

  package init(_ request: RequestView) throws(RequestError) { try self.init(request.params, text: request.paramsText) }

  private mutating func read(_ attributes: EventAttributes, _ path: String) throws(RequestError) {
    type = try EventChecks.name(attributes[.type], path, "type", limit: Limits.typeBytes)
    subject = try EventChecks.name(attributes[.subject], path, "subject", limit: Limits.subjectBytes)
    id = try EventChecks.id(attributes[.id], path)
    source = try EventChecks.text(attributes[.source], path, "source") ?? source
    if let version = attributes[.specversion], !version.isString("1.0") {
      throw .invalidParams(path: JSONPath.member(path, "specversion"), "must be \"1.0\"")
    }
    time = try EventChecks.time(attributes[.time], path)
    try EventChecks.base64(attributes[.dataBase64], path, hasData: attributes[.data] != nil)
    try EventChecks.string(attributes[.dataContentType], path, "datacontenttype")
    try EventChecks.string(attributes[.dataSchema], path, "dataschema")
    isDryRun = try EventChecks.bool(attributes[.dryRun], path, "dryrun")
    (isExplained, explainsValues) = try EventChecks.explain(attributes[.explain], path)
    isInternal = try EventChecks.bool(attributes[.internal], path, "internal")
    if let wait = attributes[.wait] {
      guard wait.isString("cascade") else { throw .invalidParams(path: "\(path).wait", "must be \"cascade\"") }
      waitsForCascade = true
    }
    data = attributes[.data]
  }
}
