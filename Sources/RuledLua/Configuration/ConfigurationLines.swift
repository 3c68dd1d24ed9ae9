/// The lines of a configuration file on which keys are set.
struct ConfigurationLines {
  private struct Place {
    let name: String
    let line: Int
    /// Whether a global is assigned, and not a member of a table.
    let isGlobal: Bool
  }

  /// In the order of the text.
  private var places: [Place] = []

  init(_ text: [UInt8]) {
    var found: [Place] = []
    (try? SyntaxTree(parsing: text))?.root.forEach { node in
      switch node.kind {
      case .assignment:
        for target in node.children[0].children {
          let key = target.kind == .index ? target.children[1].stringValue : nil
          guard let name = target.globalName ?? key else { continue }
          found.append(Place(name: name, line: target.line, isGlobal: key == nil))
        }
      case .namedField:
        guard let name = node.children[0].stringValue else { return }
        found.append(Place(name: name, line: node.line, isGlobal: false))
      default: break
      }
    }
    places = found
  }

  /// The line that sets the last member of `path`, or a line near it.
  ///
  /// - Parameters:
  ///   - path: the names of the members, from the global down.
  ///   - last: the line on which the assignment of the global ends, 0 when it is not known.
  /// - Returns: the line; `last` when the global is not found.
  func line(of path: [String], endingAt last: Int) -> Int {
    let global = places.lastIndex { $0.isGlobal && $0.name == path.first && (last == 0 || $0.line <= last) }
    guard var index = global else { return last }
    for name in path.dropFirst() {
      guard let next = places[(index + 1)...].firstIndex(where: { $0.name == name }) else { break }
      index = next
    }
    return places[index].line
  }
}
