/// Shows how far a backtest is, and notices that the user interrupts it.
final class BacktestWatch {
  private let interrupt = Interrupt()
  private var progress: Progress
  /// How many events were played when it was asked last.
  private(set) var count = 0

  init(_ environment: ToolEnvironment) { progress = Progress(environment) }

  deinit { interrupt.end() }

  /// Shows how many events were read or played; false once the user has interrupted.
  func shouldContinue(share: Double?, count: Int) -> Bool {
    self.count = count
    progress.show(share: share, count: count, "event")
    return !interrupt.hasCome
  }

  func clear() { progress.clear() }
}
