package import RuledCore
import RuledJSON

/// An event in the binary mode of the CloudEvents HTTP binding: attributes in `ce-*` headers, the body as data.
package enum BinaryEvent {
  /// Appends the event in structured JSON.
  ///
  /// A JSON body becomes `data`, text in UTF-8 a string, anything else `data_base64`. The daemon's own `dryrun` and `explain` are
  /// booleans, `true` or `false`; what else a header says is a string.
  ///
  /// A JSON body is checked with `parser`.
  package static func write(
    _ headers: HTTPHeaders, body: UnsafeRawBufferPointer, parser: RequestParser, to buffer: ByteBuffer
  ) throws(RequestError) {
    var attributes = JSONObject()
    for field in headers.attributes where field.name != "datacontenttype" {
      guard field.name != "data", field.name != "data_base64" else {
        throw .invalidParams(path: "params.\(field.name)", "is no attribute: the body is the data")
      }
      guard attributes[field.name] == nil else {
        throw .invalidParams(path: "params.\(field.name)", "stands in two headers")
      }
      attributes[field.name] = value(field)
    }
    let contentType = headers["content-type"]
    if let contentType { attributes["datacontenttype"] = .string(contentType) }
    JSONValue.object(attributes).write(to: buffer)
    guard !body.isEmpty else { return }
    buffer.truncate(to: buffer.count - 1)
    if buffer.bytes.last != UInt8(ascii: "{") { buffer.append(UInt8(ascii: ",")) }
    if HTTPContent.isJSON(contentType) {
      _ = try parser.value(body)
      buffer.append("\"data\":" as StaticString)
      buffer.append(body)
    } else if HTTPContent.mediaType(contentType).hasPrefix("text/"), String(validating: body, as: UTF8.self) != nil {
      buffer.append("\"data\":" as StaticString)
      buffer.append(jsonString: body)
    } else {
      buffer.append("\"data_base64\":\"" as StaticString)
      Base64.write(body, to: buffer)
      buffer.append(UInt8(ascii: "\""))
    }
    buffer.append(UInt8(ascii: "}"))
  }

  private static func value(_ field: HTTPHeaders.Field) -> JSONValue {
    let text = HTTPTarget.decode(unquoted(field.value)[...])
    switch (field.name, text) {
    case ("dryrun", "true"), ("explain", "true"): return .bool(true)
    case ("dryrun", "false"), ("explain", "false"): return .bool(false)
    default: return .string(text)
    }
  }

  /// The content of a quoted string of RFC 9110; anything else as it is.
  private static func unquoted(_ value: String) -> String {
    let bytes = Array(value.utf8)
    guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return value }
    var content: [UInt8] = []
    var isEscaped = false
    for byte in bytes.dropFirst().dropLast() {
      if byte == UInt8(ascii: "\\"), !isEscaped {
        isEscaped = true
      } else {
        content.append(byte)
        isEscaped = false
      }
    }
    return String(decoding: content, as: UTF8.self)
  }
}
