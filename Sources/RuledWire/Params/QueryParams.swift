import CJSON
package import RuledCore

/// What `query` takes; everything in it is valid until the document parses again.
package struct QueryParams {
  /// Whose state the query sees, or nil for a query that needs none.
  package let subject: UnsafeRawBufferPointer?
  /// The plugin, which is what stands before the name's first dot.
  package let plugin: UnsafeRawBufferPointer
  /// The query in the plugin; empty if the name has no dot, which no query matches.
  package let query: UnsafeRawBufferPointer
  /// The arguments, or nil if absent or null.
  package let args: TapeValue?
  /// The text of the arguments as sent; empty if there are none.
  package let argsText: UnsafeRawBufferPointer

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = try reader.subject()
    guard let value = reader.value("name") else { throw reader.error("name", "is required") }
    guard let name = value.string else { throw reader.error("name", "must be a string") }
    let dot = name.firstIndex(of: UInt8(ascii: ".")) ?? name.endIndex
    plugin = UnsafeRawBufferPointer(rebasing: name[..<dot])
    query = UnsafeRawBufferPointer(rebasing: name[dot...].dropFirst())
    args = reader.value("args")
    argsText = args == nil ? UnsafeRawBufferPointer(start: nil, count: 0) : request.paramsText.rawMember("args")
  }
}
