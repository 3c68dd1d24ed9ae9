extension BidirectionalCollection {
  /// The part between the elements at both ends that `isOuter` accepts.
  package func trimming(_ isOuter: (Element) -> Bool) -> SubSequence {
    guard let last = lastIndex(where: { !isOuter($0) }) else { return self[endIndex...] }
    return self[...last].drop(while: isOuter)
  }
}

extension Substring {
  /// The text without Unicode's white space at its ends, as `text.trim` of rules has it.
  package var trimmed: Substring { Substring(unicodeScalars.trimming(\.properties.isWhitespace)) }
}
