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
  /// A call that works in a rule, or in a query, a file or a test, as `scope` says.
  package let example: String
  let scope: Scope

  /// Where a function may be called.
  package enum Scope: Sendable, CaseIterable {
    /// In rules, and those that change nothing in queries and handlers too.
    case rule
    case query
    /// Anywhere, also while a file loads.
    case anywhere
  }

  package var isForQueriesOnly: Bool { scope == .query }

  /// A function; `parameters` are written `name: type; name: type?`, `results` `type; type`.
  package init(
    _ name: String, _ parameters: String = "", _ results: String = "", _ about: String, example: String = "",
    scope: Scope = .rule
  ) {
    self.name = name
    self.parameters = Self.split(parameters).map { text in
      let parts = text.split(separator: ":", maxSplits: 1)
      return Value(name: String(parts[0]), type: parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "any")
    }
    self.results = Self.split(results).map { Value(name: "", type: String($0)) }
    self.about = about
    self.example = example
    self.scope = scope
  }

  /// The table that the function is a member of, such as `calendar`; nil for a global function.
  package var table: String? { name.firstIndex(of: ".").map { String(name[..<$0]) } }

  private static func split(_ list: String) -> [Substring] {
    list.split(separator: ";").map { $0.drop { $0 == " " } }
  }
}
