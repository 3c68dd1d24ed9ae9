package import RuledCore
import RuledJSON

/// An event in the binary mode of the CloudEvents HTTP binding: attributes in `ce-*` headers, the body as data.
package enum BinaryEvent {
  /// Appends the event in structured JSON.
  ///
  /// A JSON body becomes `data`, UTF-8 text a string, anything else `data_base64`. The daemon's own attributes `dryrun`, `explain` and
  /// `internal` become booleans when they are `true` or `false`; all other values are strings.
  ///
  /// `parser` parses a JSON body, to check it. Errors are `invalid_params` for a repeated attribute, one called `data` or one that is no
  /// UTF-8, and `parse_error` for a body that is not the JSON that it claims to be.
  package static func write(
    _ headers: HTTPHeaders, body: ByteView, parser: RequestParser, to buffer: ByteBuffer
  ) throws(RequestError) {
    var attributes = JSONObject()
    for field in headers.attributes where field.name != "datacontenttype" {
      guard field.name != "data", field.name != "data_base64" else {
        throw .invalidParams(path: "params.\(field.name)", "is no attribute: the body is the data")
      }
      guard attributes[field.name] == nil else {
        throw .invalidParams(path: "params.\(field.name)", "is in two headers")
      }
      attributes[field.name] = try value(of: field)
    }
    let contentType = headers.first("content-type")
    if let contentType { attributes["datacontenttype"] = .string(try text(of: contentType, "datacontenttype")) }
    var writer = JSONWriter(buffer)
    writer.beginObject()
    for attribute in attributes {
      writer.member(named: attribute.name)
      writer.value(attribute.value)
    }
    if !body.isEmpty { try writeData(body, contentType?.value, parser, to: &writer) }
    writer.endObject()
  }

  private static func writeData(
    _ body: ByteView, _ contentType: String?, _ parser: RequestParser, to writer: inout JSONWriter
  ) throws(RequestError) {
    if HTTPContent.isJSON(contentType) {
      _ = try parser.value(body)
      writer.member("data", raw: body)
    } else if HTTPContent.mediaType(contentType).hasPrefix("text/"), String(validating: body, as: UTF8.self) != nil {
      writer.member("data", string: body)
    } else {
      writer.member("data_base64")
      writer.string(plain: { Base64.encode(body, to: $0) })
    }
  }

  private static func text(of field: HTTPHeaders.Field, _ attribute: String) throws(RequestError) -> String {
    guard field.isText else {
      throw .invalidParams(
        path: "params.\(attribute)", "is no UTF-8; a header may have other characters as percent escapes of it")
    }
    return field.value
  }

  private static func value(of field: HTTPHeaders.Field) throws(RequestError) -> JSONValue {
    guard let text = PercentText.decodeStrictly(unquoted(try text(of: field, field.name))) else {
      throw .invalidParams(path: "params.\(field.name)", "has percent escapes that are no UTF-8")
    }
    switch (field.name, text) {
    case ("dryrun", "true"), ("explain", "true"), ("internal", "true"): return .bool(true)
    case ("dryrun", "false"), ("explain", "false"), ("internal", "false"): return .bool(false)
    default: return .string(text)
    }
  }

  /// The content of a quoted string of RFC 9110, section 5.6.4; another value unchanged.
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
    return content.text
  }
}
