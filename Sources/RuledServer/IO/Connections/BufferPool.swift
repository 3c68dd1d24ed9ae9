internal import RuledCore

/// Buffers that connections borrow while they have something in them, so that an idle connection holds none.
final class BufferPool {
  private let lineBytes: Int
  private let memory: LineMemory
  private var framers: [LineFramer] = []
  private var outputs: [ByteBuffer] = []
  private static let kept = 64

  /// A pool for connections with lines of at most `lineBytes`, whose buffers grow as `memory` has room.
  init(lineBytes: Int, memory: LineMemory) {
    self.lineBytes = lineBytes
    self.memory = memory
  }

  /// An empty framer.
  func framer() -> LineFramer { framers.popLast() ?? LineFramer(limit: lineBytes, memory: memory) }

  /// Takes an empty framer back; one that has grown is dropped.
  func giveBack(_ framer: LineFramer) {
    if framer.isEmpty, !framer.isGrown, framers.count < Self.kept { framers.append(framer) }
  }

  /// An empty output buffer.
  func output() -> ByteBuffer { outputs.popLast() ?? ByteBuffer(capacity: 16 << 10) }

  /// Takes an output buffer back; one that has grown far is dropped.
  func giveBack(_ output: ByteBuffer) {
    output.removeAll()
    if output.capacity <= 256 << 10, outputs.count < Self.kept { outputs.append(output) }
  }
}
