/// The connections of one loop: finds them by token, writes their output at the end of each turn, closes those that stall.
package final class ConnectionTable {
  /// The loop of all its connections.
  package let loop: EventLoop
  /// The bounds of each connection.
  package let limits: ConnectionLimits
  /// How many connections are open.
  package private(set) var count = 0

  let pool: BufferPool
  private(set) var handler: (any ConnectionHandler)?
  private var slots: [Slot] = []
  private var freeSlots: [Int] = []
  private var queued: [Connection] = []
  private var blocked = 0
  private var stallTimer: LoopTimer?

  private struct Slot {
    var generation: UInt32 = 1
    var connection: Connection?
  }

  /// A table without connections; `handler` is kept until `close`.
  package init(on loop: EventLoop, limits: ConnectionLimits = ConnectionLimits(), handler: any ConnectionHandler) {
    self.loop = loop
    self.limits = limits
    self.handler = handler
    pool = BufferPool(lineBytes: limits.lineBytes, memory: limits.lineMemory)
    loop.atTurnEnd(.output) { [self] in settle() }
  }

  /// Takes over an accepted descriptor, also when it throws.
  @discardableResult
  package func adopt(_ descriptor: Int32) throws(SystemError) -> Connection {
    loop.assertOnLoop()
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(Slot()) }
    do throws(SystemError) {
      let token = ConnectionToken(slot: slot, generation: slots[slot].generation)
      let connection = try Connection(descriptor, token: token, in: self)
      slots[slot].connection = connection
      count += 1
      return connection
    } catch {
      freeSlots.append(slot)
      SystemCalls.close(descriptor)
      throw error
    }
  }

  /// The connection of a token, or nil when it is gone.
  package subscript(_ token: ConnectionToken) -> Connection? {
    guard token.slot < slots.count, slots[token.slot].generation == token.generation else { return nil }
    return slots[token.slot].connection
  }

  /// Calls `body` with every open connection; it may close them.
  package func forEach(_ body: (Connection) -> Void) {
    for index in slots.indices {
      if let connection = slots[index].connection { body(connection) }
    }
  }

  /// Has every connection answer what it has received and close.
  package func drain() { forEach { $0.drain() } }

  /// Closes every connection, reports it, and lets go of the handler; before the loop closes.
  package func close() {
    forEach { $0.close() }
    settle()
    stallTimer?.close()
    stallTimer = nil
    handler = nil
  }

  func queue(_ connection: Connection) { queued.append(connection) }

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

  /// Keeps the stall timer running while some connection has output that its socket did not take, or part of a long line.
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
        || connection.waitsForLine && loop.now - connection.lastInput >= limits.stallMilliseconds
      if isStalled { connection.close() }
    }
  }

  /// Settles what is queued, and what that queues in turn.
  private func settle() {
    var index = 0
    while index < queued.count {
      let connection = queued[index]
      index += 1
      connection.isQueued = false
      connection.settle()
    }
    queued.removeAll(keepingCapacity: true)
  }
}
