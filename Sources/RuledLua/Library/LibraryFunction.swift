/// A function that the host gives to rules or tests, for editors and pages.
package struct LibraryFunction: Sendable {
  /// A parameter or a result.
  package struct Value: Sendable {
    /// Its name; of a result, empty.
    package let name: String
    /// Its type as LuaCATS writes it; `?` at the end: it may be nil or left out.
    package let type: String
  }

  /// The name as rules call it, such as `calendar.day`; of a method of tests, `Test:event`.
  package let name: String
  package let parameters: [Value]
  package let results: [Value]
  package let about: String
  /// A call that works wherever the function may be called.
  package let example: String
  /// Where it may be called.
  package let phases: Set<Phase>

  /// Where calls of functions stand.
  package enum Phase: CaseIterable, Sendable {
    /// In a file while it loads, and in the check of a setting.
    case load
    case rule
    case query
    /// In a handler of a host or a sink.
    case handler
    /// In a step to another version of the state.
    case step
  }

  /// A function; `parameters` are written `name: type; name: type?`, `results` `type; type`.
  package init(
    _ name: String, _ parameters: String = "", _ results: String = "", _ about: String, example: String = "",
    in phases: Set<Phase> = .rules
  ) {
    self.name = name
    self.parameters = Self.split(parameters).map { text in
      let parts = text.split(separator: ":", maxSplits: 1)
      return Value(name: String(parts[0]), type: parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "any")
    }
    self.results = Self.split(results).map { Value(name: "", type: String($0)) }
    self.about = about
    self.example = example
    self.phases = phases
  }

  /// The table that the function is a member of, such as `calendar`; nil for a global function.
  package var table: String? { name.firstIndex(of: ".").map { String(name[..<$0]) } }

  private static func split(_ list: String) -> [Substring] {
    list.split(separator: ";").map { $0.drop { $0 == " " } }
  }
}

extension Set<LibraryFunction.Phase> {
  package static let rules: Self = [.rule]
  package static let queries: Self = [.query]
  static let evaluations: Self = [.rule, .query, .handler]
  static let calls: Self = [.rule, .query, .handler, .step]
  static let anywhere = Self(LibraryFunction.Phase.allCases)
}
