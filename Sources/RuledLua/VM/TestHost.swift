package import RuledCore

package protocol TestHost: AnyObject {
  /// Executes `t:method(…)`; tables are JSON.
  func call(_ method: String, _ arguments: [JSONValue]) throws(TestFailure) -> [JSONValue]
}

package struct TestFailure: Error, Sendable {
  var message: String

  package init(_ message: String) { self.message = message }
}

/// A line of a test, or of a function that it calls.
package struct TestLocation: Sendable, Equatable {
  let file: String
  let line: Int
  /// The function's name; nil for the test itself, and for functions without a name.
  let function: String?

  /// The locations of a text of the bridge, which has the last call first; the test itself comes first here.
  static func list(_ text: String) -> [TestLocation] {
    text.split(separator: "\n").reversed().compactMap { line in
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
      guard parts.count == 2, let colon = parts[0].lastIndex(of: ":"),
        let number = Int(parts[0][parts[0].index(after: colon)...])
      else { return nil }
      return TestLocation(
        file: String(parts[0][..<colon]), line: number, function: parts[1].isEmpty ? nil : String(parts[1]))
    }
  }

  /// The file, the line, and the function's name.
  package var text: String { "\(file):\(line), in \(function.map { "'\($0)'" } ?? "the test")" }
}
