/// A bar on standard error that says how far a long job is; nothing where no person looks.
struct Progress {
  private static let interval = Duration.milliseconds(100)
  private static let width = 24

  private let errors: Output?
  private let total: Int?
  private let unit: String
  private let began = ContinuousClock.now
  private var drawn: ContinuousClock.Instant?

  /// A bar for a job of `total` bytes, if that is known, counted in `unit`s.
  init(_ environment: ToolEnvironment, total: Int?, unit: String) {
    errors = environment.showsProgress ? environment.errors : nil
    self.total = total
    self.unit = unit
  }

  /// Draws the bar anew, not more than ten times a second.
  mutating func show(done: Int, bytes: Int) {
    guard let errors else { return }
    let now = ContinuousClock.now
    if let drawn, now - drawn < Self.interval { return }
    drawn = now
    var text = "\r\u{1B}[K"
    if let total, total > 0 {
      let share = min(1, Double(bytes) / Double(total))
      let filled = Int(share * Double(Self.width))
      text += String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
      text += " \(Int(share * 100))%  "
    }
    let seconds = Double((now - began) / .seconds(1))
    let rate = seconds > 0 ? Int(Double(done) / seconds) : 0
    errors.write(text + "\(Figures.count(done, unit))  \(Figures.count(rate))/s")
  }

  /// Removes the bar, before other lines and at the end.
  mutating func clear() {
    guard let errors, drawn != nil else { return }
    drawn = nil
    errors.write("\r\u{1B}[K")
  }
}
