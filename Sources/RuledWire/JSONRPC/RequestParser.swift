package import RuledCore
package import RuledJSON

/// Turns lines into requests, one line at a time; a worker has one.
///
/// The requests point into the line and into `document`, and are valid until the next line is parsed.
package final class RequestParser {
  /// The document of the last line, for code that walks its tape.
  let document: TapeDocument

  package init(maximumDepth: Int = Limits.jsonDepth) { document = TapeDocument(maximumDepth: maximumDepth) }

  /// A parser of requests that have the body of an HTTP request within them, or even within an event.
  package static func ofHTTP() -> RequestParser { RequestParser(maximumDepth: Limits.jsonDepth + 2) }

  /// Parses a line.
  ///
  /// - Parameters:
  ///   - line: The line without its newline.
  ///   - readable: How many bytes can be read from the start of `line`; with 64 more than the line has, it is not copied.
  /// - Returns: The content of the line; valid until the next line is parsed.
  package func parseRequest(_ line: ByteView, readable: Int = 0) -> RequestLine {
    do throws(RequestError) {
      let root = try value(line, readable: readable)
      guard root.kind == .array else { return .single(RequestMessage(root, text: line)) }
      guard !ElementCursor(root, text: line).isAtEnd else { return .invalid(RequestMessage.error("A batch is empty.")) }
      return .batch(RequestBatch(root, text: line))
    } catch { return .invalid(error) }
  }

  /// Parses a text that need not be a request, like the body of an HTTP request.
  ///
  /// - Throws: `parse_error`.
  package func value(_ text: ByteView, readable: Int = 0) throws(RequestError) -> TapeValue {
    guard let first = text.first else { throw RequestError(.parseError, "There is no JSON.") }
    if first == ByteOrderMark.bytes[0], text.starts(with: ByteOrderMark.bytes) {
      throw RequestError(.parseError, "The text begins with a byte order mark (EF BB BF): leave it out.")
    }
    do throws(JSONError.Reason) {
      return try document.parse(text, readable: readable)
    } catch { throw RequestError(.parseError, "Parse error: \(error.message).") }
  }
}

package enum RequestLine {
  case single(RequestMessage)
  /// A batch of at least one message, whose answers make one array.
  case batch(RequestBatch)
  /// No JSON, or an empty batch; the answer has the error and the id `null`.
  case invalid(RequestError)
}

/// The messages of a request batch, in their order; valid until the parser parses again.
package struct RequestBatch {
  private var elements: ElementCursor

  init(_ array: TapeValue, text: ByteView) { elements = ElementCursor(array, text: text) }

  package mutating func next() -> RequestMessage? {
    elements.next().map { RequestMessage($0.value, text: $0.text) }
  }
}

/// The members of a request object while it is read; of repeated ones the last counts.
struct RequestMembers {
  private var version: TapeValue?
  private var method: TapeValue?
  private var params: TapeValue?
  private var paramsText: ByteView?
  private var id: TapeValue?
  private var idText: ByteView?

  /// Stores `member` if it belongs to a request.
  mutating func set(_ member: MemberCursor.Member) {
    switch member.name.count {
    case 2 where member.name.equals("id"): (id, idText) = (member.value, member.text)
    case 6 where member.name.equals("params"): (params, paramsText) = (member.value, member.text)
    case 6 where member.name.equals("method"): method = member.value
    case 7 where member.name.equals("jsonrpc"): version = member.value
    default: break
    }
  }

  var message: RequestMessage {
    if let id, id.isContainer || id.bool != nil {
      return .invalid(id: nil, RequestMessage.error("“id” is a string, a number or null."))
    }
    guard let version, version.isString("2.0") else { return invalid("“jsonrpc” must be \"2.0\".") }
    guard let name = method?.string else { return invalid("“method” must be a string.") }
    if let params, !params.isContainer { return invalid("“params” must be an object or an array.") }
    return .request(
      RequestView(
        id: idText, method: Method(name), methodName: name, params: params, paramsText: paramsText ?? ByteView("{}")))
  }

  private func invalid(_ message: String) -> RequestMessage { .invalid(id: idText, RequestMessage.error(message)) }
}

/// One JSON-RPC message of a line or of a batch.
package enum RequestMessage {
  /// A request or a notification.
  case request(RequestView)
  /// No request; the answer has the error and the id's text as sent, or `null` if the id is nil.
  case invalid(id: ByteView?, RequestError)

  init(_ value: TapeValue, text: ByteView) {
    guard value.isKind(.object) else {
      self = .invalid(id: nil, Self.error("A request is an object."))
      return
    }
    var members = RequestMembers()
    var cursor = MemberCursor(value, text: text)
    while let member = cursor.next() { members.set(member) }
    self = members.message
  }

  /// `invalid_request` with a sentence.
  static func error(_ message: String) -> RequestError { RequestError(.invalidRequest, message) }
}
