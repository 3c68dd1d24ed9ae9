internal import RuledCore

/// Which subjects' events a backtest plays.
struct BacktestSelection {
  private let prefix: [UInt8]
  /// The share of the subjects, from 0 to 1.
  private let share: Double

  /// The selection that `--subjects` and `--sample` make.
  init(_ arguments: Arguments) throws(UsageError) {
    prefix = Array((arguments.value("subjects") ?? "").utf8)
    guard let text = arguments.value("sample") else {
      share = 1
      return
    }
    let number = text.hasSuffix("%") ? String(text.dropLast()) : text
    guard let percent = Double(number), percent > 0, percent <= 100 else {
      throw UsageError("--sample takes a share of more than 0 % and at most 100 %, such as 10%, not '\(text)'")
    }
    share = percent / 100
  }

  /// Whether all subjects are played.
  var isWhole: Bool { prefix.isEmpty && share == 1 }

  /// Whether a subject's events are played; which subjects a share has is the same in every run.
  func contains(_ subject: String) -> Bool {
    guard !isWhole else { return true }
    let name = Array(subject.utf8)
    guard name.starts(with: prefix) else { return false }
    return share == 1 || Double(name.withUnsafeBytes { hash64($0, seed: 0) }) < share * 0x1p64
  }
}
