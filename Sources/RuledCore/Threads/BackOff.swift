/// Whether it pays to try something again that is worth it at times: each failure has more of the next turns passed over.
public struct BackOff: Sendable {
  private let first: Int
  private let most: Int
  private var pause = 0
  private var left = 0

  /// Passes over `first` turns after a failure, and over twice as many after each further one, `most` at the most.
  public init(first: Int, most: Int) {
    self.first = first
    self.most = most
  }

  /// Whether it is to be tried in the next turn.
  public mutating func isNext() -> Bool {
    if left > 0 { left -= 1 }
    return left == 0
  }

  /// Says that it was worth it.
  public mutating func succeeded() { pause /= 2 }

  /// Says that it was in vain.
  public mutating func failed() {
    pause = min(max(pause * 2, first), most)
    left = pause
  }
}
