package import RuledCore

extension Failure {
  /// Writes the failure as `{"plugin":…,"rule":…,"kind":…,"message":…,"file":…,"line":…}`; what isn't known is null.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("plugin", plugin)
    writer.member("rule", rule)
    writer.member("kind", kind.rawValue)
    writer.member("message", message)
    writer.member("file", file)
    writer.member("line")
    if let line { writer.integer(Int64(line)) } else { writer.null() }
    writer.endObject()
  }

  /// Appends the failure as JSON text.
  package func write(to buffer: ByteBuffer) {
    var writer = JSONWriter(buffer)
    write(to: &writer)
  }
}

extension RequestError {
  /// Writes the error object of JSON-RPC, `{"code":…,"message":…,"data":{"code":…,…}}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("code", code.number)
    writer.member("message", message)
    writer.member("data")
    writer.beginObject()
    writer.member("code", code.rawValue)
    for detail in details {
      writer.member(named: detail.name)
      writer.value(detail.value)
    }
    writer.endObject()
    writer.endObject()
  }

  /// Appends the error object as JSON text.
  package func write(to buffer: ByteBuffer) {
    var writer = JSONWriter(buffer)
    write(to: &writer)
  }
}
