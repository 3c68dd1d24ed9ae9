import RuledCore
import RuledEngine

/// What the outbox's thread is told.
enum OutboxMessage: Sendable {
  /// Effects were committed.
  case recorded([EffectKey])
  /// Go through the store: something may have been missed.
  case look
  /// Other sinks are configured, or secrets and files may have changed.
  case reload([String: Configuration.Sink])
  /// A sink handler has answered for the delivery of that number.
  case handled(UInt64, HandlerAnswer)
  /// The mark that an effect was given up is durable, or refused.
  case marked(EffectKey, sink: String)
  /// End once what is in flight has ended, or after so many milliseconds.
  case stop(milliseconds: UInt64, then: @Sendable () -> Void)
}
