extension RandomAccessCollection where Index == Int {
  /// The first index whose element `isBehind` accepts, as it does all later ones; the end if there is none.
  ///
  /// - Complexity: O(log *n*).
  @inlinable package func partitioningIndex(where isBehind: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
