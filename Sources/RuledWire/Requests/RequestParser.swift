import RuledCore

/// Turns lines into requests, one line at a time; a worker keeps one.
///
/// What it hands out points into the line and into its document, and holds until the next line.
package final class RequestParser {
  /// The document of the last line, for code that walks its tape.
  package let document = TapeDocument()

  /// A parser that has parsed nothing.
  package init() {}

  /// Parses `line`, of which `readable` bytes may be read: 64 more than it has spare a copy.
  package func parse(_ line: UnsafeRawBufferPointer, readable: Int = 0) -> RequestLine {
    do throws(RequestError) {
      let root = try document.parse(line, readable: readable)
      guard root.kind == .array else { return .single(RequestMessage(root, text: line)) }
      guard !ElementCursor(root, text: line).isAtEnd else { return .invalid(RequestMessage.error("A batch is empty.")) }
      return .batch(RequestBatch(root, text: line))
    } catch {
      return .invalid(error)
    }
  }
}
