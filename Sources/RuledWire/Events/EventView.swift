package import RuledCore

/// A CloudEvent as it stands in a request, checked; everything in it is valid until its document parses again.
package struct EventView {
  /// What happened; 1 to 256 bytes.
  package private(set) var type = Bytes(start: nil, count: 0)
  /// Whom it happened to; 1 to 256 bytes.
  package private(set) var subject = Bytes(start: nil, count: 0)
  /// Who says so; may be empty.
  package private(set) var source = Bytes(start: nil, count: 0)
  /// The event's id, or nil if one is to be made.
  package private(set) var id: Bytes?
  /// When it happened, or nil for the time of receipt.
  package private(set) var time: Timestamp?
  /// The data, or nil if absent or null.
  package private(set) var data: TapeValue?
  /// Whether to commit nothing.
  package private(set) var isDryRun = false
  /// Whether to add the trace.
  package private(set) var isExplained = false
  /// Whether the reply waits for the messages that the event causes.
  package private(set) var waitsForCascade = false
  /// Whether there are attributes in `extensions`.
  package private(set) var hasExtensions = false
  /// The text of the whole event as sent.
  package let text: Bytes

  /// A run of bytes of the request or its document.
  package typealias Bytes = UnsafeRawBufferPointer

  private let object: TapeValue

  /// Reads the event that `value` holds and whose text is `text`, or says which member at `path` is wrong.
  package init(_ value: TapeValue?, text: Bytes, path: String = "params") throws(RequestError) {
    guard let value, value.isKind(.object) else { throw .invalidParams(path: path, "must be an object") }
    self.text = text.trimmedJSON
    object = value
    var attributes = EventAttributes(of: value)
    var members = TapeMembers(value)
    while let member = members.next() {
      let kind = EventAttribute(member.name)
      attributes.set(kind, member.value)
      if kind.isExtension, !member.value.isKind(.null) {
        try EventChecks.extension(member.name, member.value, path)
        hasExtensions = true
      }
    }
    try read(attributes, path)
  }

  /// The text of the data as sent, found by reading the event's text; empty if there is none.
  package var dataText: Bytes { data == nil ? Bytes(start: nil, count: 0) : text.rawMember("data") }

  /// Where the event's object stands on the tape.
  package var objectIndex: Int { object.index }

  /// Reads the event in a request's params.
  package init(_ request: RequestView) throws(RequestError) {
    try self.init(request.params, text: request.paramsText)
  }

  /// The attributes that are kept without meaning to the daemon: extensions, `data_base64`, `datacontenttype` and
  /// `dataschema`.
  package var extensions: EventExtensions { EventExtensions(MemberCursor(object, text: text)) }

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
    isExplained = try EventChecks.bool(attributes[.explain], path, "explain")
    if let wait = attributes[.wait] {
      guard wait.isString("cascade") else { throw .invalidParams(path: "\(path).wait", "must be \"cascade\"") }
      waitsForCascade = true
    }
    data = attributes[.data]
  }
}
