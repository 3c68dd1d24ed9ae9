package import RuledCore

/// The owner of a table's connections.
///
/// Every call comes on the loop's thread.
package protocol ConnectionHandler: AnyObject {
  /// A line came; it has no newline and is never blank.
  ///
  /// The bytes are valid during the call, and the `LineFramer.padding` bytes after them can be read.
  func receiveLine(_ line: ByteView, on connection: Connection)

  /// A line was skipped. Called once for each such line, in the order of the lines.
  func reportSkippedLine(_ reason: LineFramer.SkipReason, on connection: Connection)

  /// The client does not speak JSON-RPC lines. The handler now owns the descriptor, from which nothing was read, and its permit.
  ///
  /// The connection is gone, and `forget` is not called for it.
  func receiveOtherProtocol(on descriptor: Int32, with permit: ConnectionPermit?)

  /// The client has ended its side, or the connection: it sends nothing more. Lines that came before may still be delivered.
  func noteInputEnd(on connection: Connection)

  /// The client can't be written to any more: it reads no further reply. Lines that came before may still be delivered.
  func noteOutputEnd(on connection: Connection)

  /// The connection closes, as it has more unsent output than memory is left for.
  func reportUnreadOutput(on connection: Connection)

  /// The connection has ended. Called once, at the end of the tick, when its token is no longer valid.
  func forget(_ connection: Connection)
}

extension ConnectionHandler {
  package func noteInputEnd(on connection: Connection) {}
  package func noteOutputEnd(on connection: Connection) {}
}
