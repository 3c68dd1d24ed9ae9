internal import RuledCore
internal import RuledEngine

/// What a program that ends with an error prints, a line for each problem, and its exit code.
struct ErrorReport {
  let lines: [String]
  let exit: ExitCode

  init(_ error: any Error) {
    (lines, exit) =
      switch error {
      case let error as UsageError: ([error.message], .failed)
      case let error as ToolError: ([error.message], error.exit)
      case let error as DaemonError: (error.lines, error.exit)
      case let error as RequestError: ([error.message], .failed)
      case let error as ReloadError: (error.errors.map(\.description), .failed)
      default: (["\(error)"], .failed)
      }
  }
}
