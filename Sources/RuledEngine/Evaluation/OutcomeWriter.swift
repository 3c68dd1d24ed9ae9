import RuledCore
import RuledStore

/// Writes the outcome of an event, a client's reply.
///
/// Its members stand in literals: with `JSONWriter` an outcome takes 1,090 instructions instead of 605.
enum OutcomeWriter {
  enum Repetition {
    case none
    case same
    /// It has the id of an earlier event with another type or other data.
    case differing
  }

  /// Appends the outcome of an event; `trace` explains it, nil for no explanation.
  static func compose(
    _ outcome: RememberedOutcome, of subject: ByteView, id: ByteView, _ repetition: Repetition,
    trace: ByteView? = nil, to buffer: ByteBuffer
  ) {
    buffer.append("{\"subject\":" as StaticString)
    buffer.append(jsonString: subject)
    buffer.append(",\"id\":" as StaticString)
    buffer.append(jsonString: id)
    switch repetition {
    case .none: buffer.append(",\"duplicate\":false,\"version\":" as StaticString)
    case .same: buffer.append(",\"duplicate\":true,\"version\":" as StaticString)
    case .differing: buffer.append(",\"duplicate\":true,\"differs\":true,\"version\":" as StaticString)
    }
    buffer.append(decimal: Int64(outcome.version))
    buffer.append(",\"revision\":\"" as StaticString)
    buffer.append(outcome.revision)
    buffer.append("\",\"decisions\":{" as StaticString)
    buffer.append(outcome.decisions)
    buffer.append("},\"effects\":[" as StaticString)
    buffer.append(outcome.effects)
    buffer.append("],\"failures\":[" as StaticString)
    buffer.append(outcome.failures)
    guard let trace else { return buffer.append("]}" as StaticString) }
    buffer.append("],\"trace\":[" as StaticString)
    buffer.append(trace)
    buffer.append("]}" as StaticString)
  }
}
