internal import RuledReports

/// A progress line on standard error; nothing where that is no terminal.
struct Progress {
  private static let interval = Duration.milliseconds(100)
  private static let barWidth = 24

  private let errors: Output?
  private var started = ContinuousClock.now
  private var shown: ContinuousClock.Instant?
  private var lastCount = 0

  init(_ environment: ToolEnvironment) {
    errors = environment.showsProgress ? environment.errors : nil
  }

  /// Shows the progress, at most ten times a second: how many of `noun` are done, with their rate.
  ///
  /// A `share`, from 0 to 1, is drawn as a bar, and with the time that the rest takes at the rate so far. `plural` is that of an irregular noun.
  mutating func show(share: Double?, count: Int, _ noun: String, plural: String? = nil) {
    guard let errors else { return }
    let now = ContinuousClock.now
    // Work that is done anew, or in a second pass, has a rate of its own.
    if count < lastCount { started = now }
    lastCount = count
    if let shown, now - shown < Self.interval { return }
    shown = now
    var text = "\r\u{1B}[K"
    if let share {
      let filled = Int(min(share, 1) * Double(Self.barWidth))
      text += String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
      text += " \(Int(min(share, 1) * 100))%  "
    }
    let seconds = Double((now - started) / .seconds(1))
    let rate = seconds > 0 ? Int(Double(count) / seconds) : 0
    let done = Figures.count(count, noun, plural: plural)
    text += "\(done)  \(Figures.count(rate))/s"
    if let share, share > 0, seconds >= 1 {
      text += "  \(Figures.duration(seconds: Int((seconds / share - seconds).rounded(.up)))) left"
    }
    errors.write(text)
  }

  /// Clears the line, before other lines and at the end.
  mutating func clear() {
    guard let errors, shown != nil else { return }
    shown = nil
    errors.write("\r\u{1B}[K")
  }
}
