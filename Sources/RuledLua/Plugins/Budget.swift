import CLuaBridge
import RuledCore

/// A plugin's budget for one event.
package struct Budget: Sendable, Equatable {
  /// Instructions of the Lua VM.
  package var instructions: Int
  /// Bytes beyond those in use when the event begins.
  package var memoryBytes: Int
  /// Microseconds of processor time.
  package var processorTime: Int64

  package init(
    instructions: Int = Limits.instructions, memoryBytes: Int = Limits.memoryBytes,
    processorTime: Int64 = Limits.processorTime
  ) {
    self.instructions = instructions
    self.memoryBytes = memoryBytes
    self.processorTime = processorTime
  }

  static let loading = Budget(
    instructions: .max / 4, memoryBytes: Limits.loadMemoryBytes, processorTime: Limits.loadTime)

  package static let test = Budget(
    instructions: .max / 4, memoryBytes: Limits.loadMemoryBytes, processorTime: Limits.testTime)

  var native: rb_budget {
    rb_budget(
      instructions: Int64(instructions), memory_bytes: Int64(memoryBytes), milliseconds: Int32(processorTime / 1000),
      operations: Int32(Limits.operations))
  }
}
