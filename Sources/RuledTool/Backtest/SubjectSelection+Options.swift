internal import RuledCore
internal import RuledReplay

extension SubjectSelection {
  /// The selection that `--subjects` and `--sample` make.
  init(_ arguments: Arguments) throws(UsageError) {
    let sample = arguments.value("sample") ?? "100%"
    guard let percent = Self.percent(sample) else {
      throw UsageError("--sample takes a share of more than 0 % and at most 100 %, such as 10%, not '\(sample)'")
    }
    self.init(prefix: arguments.value("subjects") ?? "", percent: percent)
  }
}
