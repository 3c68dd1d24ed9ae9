package struct JSONDifference {
  package let path: String
  package let before: JSONValue?
  package let after: JSONValue?

  /// The places at which two values differ, down to the members that do, in the order of the members or `byName`.
  package static func between(
    _ before: JSONValue?, _ after: JSONValue?, byName: Bool = false, at path: String = ""
  ) -> [JSONDifference] {
    if before == after { return [] }
    if let old = before?.objectValue, let new = after?.objectValue {
      let names = old.names + new.names.filter { old[$0] == nil }
      return (byName ? names.sorted() : names).flatMap { name in
        between(old[name], new[name], byName: byName, at: path.isEmpty ? name : "\(path).\(name)")
      }
    }
    if let old = before?.arrayValue, let new = after?.arrayValue {
      return (0..<max(old.count, new.count)).flatMap { index in
        between(
          index < old.count ? old[index] : nil, index < new.count ? new[index] : nil, byName: byName,
          at: "\(path)[\(index + 1)]")
      }
    }
    return [JSONDifference(path: path, before: before, after: after)]
  }

  /// The place as `{path, before?, after?}`, with `…` for the values where it `omitsValues`.
  package func json(omitsValues: Bool = false) -> JSONValue {
    func shown(_ value: JSONValue?) -> JSONValue? { omitsValues ? value.map { _ in "…" } : value }
    return .members(["path": .string(path), "before": shown(before), "after": shown(after)])
  }
}
