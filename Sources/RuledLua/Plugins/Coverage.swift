/// How often each line of the rules ran, over all machines that were built to tell.
///
/// A machine adds its figures when it is let go.
package final class Coverage {
  /// How often a line ran, by file and line.
  package private(set) var runs: [String: [Int: UInt64]] = [:]

  /// Nothing has run yet.
  package init() {}

  /// Adds that a line ran so often.
  func add(_ count: UInt64, line: Int, of file: String) { runs[file, default: [:]][line, default: 0] += count }
}
