package struct LineTable: Sendable {
  private let ends: [Int]

  /// The lines of a text, which end with a newline.
  package init(_ text: [UInt8]) { ends = text.indices.filter { text[$0] == UInt8(ascii: "\n") } }

  /// The line in which the byte at an offset is, from 1; the newline belongs to the line that it ends.
  ///
  /// - Complexity: O(log *n*) in the number of lines.
  package func line(at offset: Int) -> Int {
    ends.partitioningIndex { $0 >= offset } + 1
  }
}
