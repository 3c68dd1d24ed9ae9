import CLuaBridge
import RuledCore

/// What one plugin may spend on one event.
package struct Budget: Sendable, Equatable {
  /// How many instructions of the Lua VM.
  package var instructions: Int
  /// How many bytes beyond those that the plugin uses when the event begins.
  package var memoryBytes: Int
  /// How many microseconds of processor time.
  package var processorTime: Int64

  package init(
    instructions: Int = Limits.instructions, memoryBytes: Int = Limits.memoryBytes,
    processorTime: Int64 = Limits.processorTime
  ) {
    self.instructions = instructions
    self.memoryBytes = memoryBytes
    self.processorTime = processorTime
  }

  /// What loading a plugin may cost.
  static let loading = Budget(
    instructions: .max / 4, memoryBytes: Limits.loadMemoryBytes, processorTime: Limits.loadTime)

  /// What one test may cost.
  package static let test = Budget(
    instructions: .max / 4, memoryBytes: Limits.loadMemoryBytes, processorTime: Limits.testTime)

  var native: rb_budget {
    rb_budget(
      instructions: Int64(instructions), memory_bytes: Int64(memoryBytes), milliseconds: Int32(processorTime / 1000),
      operations: Int32(Limits.operations))
  }
}
