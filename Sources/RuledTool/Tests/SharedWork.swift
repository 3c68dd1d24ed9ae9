internal import RuledThreads
internal import Synchronization

/// Pieces of work that several threads take in turn, and their results.
final class SharedWork<Piece: Sendable, Result: Sendable>: Sendable {
  private struct Progress {
    var next = 0
    var done = 0
    var results: [Result?]
    var error: (any Error)?
  }

  private let pieces: [Piece]
  private let report: @Sendable (Int, Int) -> Void
  private let progress: Mutex<Progress>

  /// Work whose `report` is called with how many pieces are done, and of how many.
  init(_ pieces: [Piece], report: @escaping @Sendable (Int, Int) -> Void = { _, _ in }) {
    self.pieces = pieces
    self.report = report
    progress = Mutex(Progress(results: Array(repeating: nil, count: pieces.count)))
  }

  /// The results in the order of the pieces.
  ///
  /// Calls `first` on this thread, and `further` on as many others as `jobs` allows; they do pieces with `forEach`.
  func results(
    jobs: Int, name: String, first: () throws -> Void, further: @escaping @Sendable () throws -> Void
  ) throws -> [Result] {
    let threads = try (1..<max(1, min(jobs, pieces.count))).map { number in
      try Thread(name: "\(name)-\(number)") { self.run(further) }
    }
    run(first)
    for thread in threads { thread.join() }
    return try progress.withLock { progress in
      if let error = progress.error { throw error }
      return progress.results.compactMap(\.self)
    }
  }

  private func run(_ body: () throws -> Void) {
    do { try body() } catch { progress.withLock { $0.error = $0.error ?? error } }
  }

  /// Does pieces on the calling thread until none is left.
  func forEach(_ body: (Piece) throws -> Result) throws {
    while let index = takeNext() {
      let result = try body(pieces[index])
      progress.withLock { progress in
        progress.results[index] = result
        progress.done += 1
        report(progress.done, pieces.count)
      }
    }
  }

  private func takeNext() -> Int? {
    progress.withLock { progress in
      guard progress.next < pieces.count, progress.error == nil else { return nil }
      progress.next += 1
      return progress.next - 1
    }
  }
}
