import RuledCore
import RuledWire

extension Control {
  /// Lists entries of the journal.
  func log(_ params: LogParams, for caller: ControlCaller) {
    let now = services.context.clock.now
    answer(caller) { $0.log(params, now: now) }
  }

  /// Brings what is committed into the journal's files, and replies with what they have.
  func bringJournalUpToDate(for caller: ControlCaller) { answer(caller) { $0.bringUpToDate() } }

  /// Has the journal's service answer on a thread of its own.
  func answer(
    _ caller: ControlCaller, _ body: @escaping @Sendable (JournalService) -> Result<[UInt8], RequestError>
  ) {
    guard let journal = services.journal else { return reply(.failure(Self.isOff), to: caller) }
    journal.answer(caller, services, body)
  }

  static let isOff = RequestError(
    .unavailable, "there is no journal: it is off in the configuration (journal.keep), or the store is in memory")
}
