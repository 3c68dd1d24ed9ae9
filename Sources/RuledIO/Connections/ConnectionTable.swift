internal import RuledCore

/// The connections of one loop: finds them by token, writes their output at the end of each tick, closes stalled ones.
package final class ConnectionTable {
  let loop: EventLoop
  package let limits: ConnectionLimits
  package private(set) var count = 0
  /// The owner of the connections, until `close`; nothing is delivered before it is set.
  package var handler: (any ConnectionHandler)?

  let pool: ConnectionBufferPool
  private var slots: [Slot] = []
  private var freeSlots: [Int] = []
  private var queued: [Connection] = []
  /// The number of connections with output that their socket did not take, and of connections with part of a long line.
  private var blocked = 0
  private var stallTimer: LoopTimer?

  private struct Slot {
    var generation: UInt32 = 1
    var connection: Connection?
  }

  package init(on loop: EventLoop, limits: ConnectionLimits = ConnectionLimits()) {
    self.loop = loop
    self.limits = limits
    pool = ConnectionBufferPool(lineBytes: limits.lineBytes, memory: limits.lineMemory)
    loop.atTickEnd(.output) { [self] in writeOutput() }
  }

  /// Takes over an accepted descriptor, also when it throws.
  @discardableResult
  package func adopt(_ descriptor: Int32, with permit: ConnectionPermit? = nil) throws(SystemError) -> Connection {
    loop.assertOnLoop()
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(Slot()) }
    do throws(SystemError) {
      let token = ConnectionToken(slot: slot, generation: slots[slot].generation)
      let connection = try Connection(descriptor, with: permit, token: token, in: self)
      slots[slot].connection = connection
      count += 1
      return connection
    } catch {
      freeSlots.append(slot)
      SystemCalls.close(descriptor)
      throw error
    }
  }

  package subscript(_ token: ConnectionToken) -> Connection? {
    guard token.slot < slots.count, slots[token.slot].generation == token.generation else { return nil }
    return slots[token.slot].connection
  }

  /// Calls `body` with every open connection; it may close them.
  func forEach(_ body: (Connection) -> Void) {
    for index in slots.indices {
      if let connection = slots[index].connection { body(connection) }
    }
  }

  /// Has every connection answer all received requests and close.
  package func drain() { forEach { $0.drain() } }

  /// Closes every connection, reports that to the handler and releases the handler.
  ///
  /// To be called before the loop closes.
  package func close() {
    forEach { $0.close() }
    writeOutput()
    stallTimer?.close()
    stallTimer = nil
    handler = nil
  }

  func remove(_ connection: Connection) {
    let slot = connection.token.slot
    slots[slot].connection = nil
    slots[slot].generation &+= 1
    freeSlots.append(slot)
    count -= 1
    if connection.isBlocked { countBlocked(-1) }
    connection.isBlocked = false
    if connection.hasLongLine { countBlocked(-1) }
    connection.hasLongLine = false
  }

  // MARK: The end of a tick

  func finishLater(_ connection: Connection) { queued.append(connection) }

  /// Ends the tick of each queued connection, and of connections queued meanwhile.
  private func writeOutput() {
    var index = 0
    while index < queued.count {
      let connection = queued[index]
      index += 1
      connection.finishTick()
    }
    queued.removeAll(keepingCapacity: true)
  }

  // MARK: Stalls

  /// Counts connections that may stall; the stall timer runs while there is one.
  func countBlocked(_ change: Int) {
    blocked += change
    if blocked == 1, change == 1 {
      let period = max(1, limits.stallMilliseconds / 8)
      if stallTimer == nil { stallTimer = try? LoopTimer(on: loop) { [self] in closeStalled() } }
      stallTimer?.start(after: period, every: period)
    } else if blocked == 0 {
      stallTimer?.stop()
    }
  }

  private func closeStalled() {
    forEach { connection in
      let isStalled =
        connection.isBlocked && loop.now - connection.lastProgress >= limits.stallMilliseconds
        || connection.waitsForLine
          && (loop.now - connection.lastInput >= limits.stallMilliseconds
            || loop.now - connection.lineStart >= limits.lineMilliseconds)
      if isStalled { connection.close() }
    }
  }
}

package struct ConnectionLimits: Sendable {
  /// The longest line in bytes, without its newline.
  package var lineBytes = 1 << 20
  /// Unsent output in bytes above which the connection pauses.
  package var unsentBytes = 1 << 20
  /// The number of requests in flight at which the connection pauses.
  var requestsInFlight = 4096
  /// The memory that all connections share for long lines.
  package var lineMemory = MemoryBudget(64 << 20)
  /// The memory that all connections share for unsent output, beyond 1 MiB of each.
  package var outputMemory = MemoryBudget(Limits.unsentBytes)
  /// How long unsent output, or a long line, may make no progress before the connection is closed, in milliseconds.
  var stallMilliseconds: UInt64 = 60_000
  /// How long a long line may take to arrive, in milliseconds.
  var lineMilliseconds: UInt64 = 300_000

  package init() {}
}

/// Buffers that connections borrow while they have something in them, so that an idle connection holds none.
final class ConnectionBufferPool {
  /// The most buffers of a kind in the pool.
  private static let maximumCount = 64
  /// The largest output buffer in the pool, in bytes.
  private static let maximumOutputBytes = 256 << 10

  private let lineBytes: Int
  private let memory: MemoryBudget
  private var framers: [LineFramer] = []
  private var outputs: [ByteBuffer] = []

  /// A pool for connections with lines of at most `lineBytes`, whose buffers grow as `memory` has room.
  init(lineBytes: Int, memory: MemoryBudget) {
    self.lineBytes = lineBytes
    self.memory = memory
  }

  func framer() -> LineFramer { framers.popLast() ?? LineFramer(limit: lineBytes, memory: memory) }

  /// Pools a framer unless it holds bytes or has grown.
  func reclaim(_ framer: LineFramer) {
    if framer.isEmpty, !framer.isGrown, framers.count < Self.maximumCount { framers.append(framer) }
  }

  func output() -> ByteBuffer { outputs.popLast() ?? ByteBuffer(capacity: 16 << 10) }

  /// Pools an output buffer unless it has grown far.
  func reclaim(_ output: ByteBuffer) {
    output.removeAll()
    if output.capacity <= Self.maximumOutputBytes, outputs.count < Self.maximumCount { outputs.append(output) }
  }
}
