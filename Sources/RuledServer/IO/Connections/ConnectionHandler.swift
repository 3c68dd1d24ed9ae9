/// What a worker does with its connections; every call comes on the loop's thread.
package protocol ConnectionHandler: AnyObject {
  /// A line arrived, without its newline and never blank.
  ///
  /// The bytes are valid during the call, and `LineFramer.padding` bytes behind them can be read.
  func received(line: UnsafeRawBufferPointer, on connection: Connection)

  /// A line is longer than the limit; its bytes are skipped. Called once for each such line, in the order of the lines.
  func tooLong(on connection: Connection)

  /// There is no memory left for a line; its bytes are skipped. Called once for each such line, in the order of the lines.
  func noRoom(on connection: Connection)

  /// The client does not speak JSON-RPC lines: the handler now owns the descriptor, from which nothing was read.
  ///
  /// The connection is gone, and `closed` is not called for it.
  func foreign(descriptor: Int32, peer: PeerCredentials?)

  /// The connection has ended, for whatever reason; called once, at the end of the turn, after its token became void.
  func closed(_ connection: Connection)
}
