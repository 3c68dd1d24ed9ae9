internal import Glibc
internal import RuledCore
internal import RuledJSON
internal import RuledLua

/// The files beside a plugin's tests: snapshots and recorded events.
struct TestFiles {
  /// The folder of the plugin's tests.
  let folder: String
  let updatesSnapshots: Bool

  // MARK: Snapshots

  /// Compares a value with the snapshot of that name, or writes it there.
  func compare(_ value: JSONValue, withSnapshot name: String) throws(TestFailure) {
    guard Self.isName(name) else {
      throw TestFailure("a snapshot's name has letters, digits, '-' and '_' alone, not '\(name)'")
    }
    let path = "\(folder)/\(name).snapshot.json"
    let text = value.prettyText() + "\n"
    guard !updatesSnapshots else {
      do throws(ToolError) { return try WholeFile.replace(path, with: Array(text.utf8)) } catch {
        throw TestFailure(error.message)
      }
    }
    guard let stored = try? Input(path: path) else {
      throw TestFailure("there is no snapshot '\(name)'; write it with 'rulectl test --update-snapshots', and read it")
    }
    let old = try parse((try? stored.readAll()) ?? [], path)
    let differences = JSONDifference.between(old, value).map { difference in
      let (expected, got) = (difference.before?.text ?? "nothing", difference.after?.text ?? "nothing")
      return "\(difference.path.isEmpty ? "it" : difference.path): expected \(expected), got \(got)"
    }
    guard !differences.isEmpty else { return }
    let shown = differences.prefix(10).joined(separator: "\n")
    let more = differences.count > 10 ? "\nand \(differences.count - 10) more" : ""
    throw TestFailure(
      "the snapshot '\(name)' differs:\n\(shown)\(more)\nif that is right, run 'rulectl test --update-snapshots'")
  }

  private static func isName(_ name: String) -> Bool {
    (1...100).contains(name.utf8.count)
      && name.utf8.allSatisfy { $0.isLetter || $0.isDigit || [UInt8(ascii: "-"), UInt8(ascii: "_")].contains($0) }
  }

  // MARK: Events

  /// The events of a file with one in each line.
  func events(in name: String) throws(TestFailure) -> [JSONObject] {
    guard !name.isEmpty, !name.contains("/"), !name.hasPrefix(".") else {
      throw TestFailure("t:replay takes the name of a file beside the test, not '\(name)'")
    }
    let path = "\(folder)/\(name)"
    guard let input = try? Input(path: path) else {
      throw TestFailure("cannot read '\(path)': \(String(cString: strerror(errno)))")
    }
    var events: [JSONObject] = []
    var number = 0
    while let line = try? input.nextLine() {
      number += 1
      guard line.contains(where: { $0 > 0x20 }) else { continue }
      guard let event = try parse(Array(line), "\(name):\(number)").objectValue else {
        throw TestFailure("\(name):\(number): an event is an object")
      }
      events.append(event)
    }
    return events
  }

  private func parse(_ text: [UInt8], _ path: String) throws(TestFailure) -> JSONValue {
    do throws(JSONError) { return try JSONValue(parsing: String(decoding: text, as: UTF8.self)) } catch {
      throw TestFailure("\(path) is not JSON: \(error.message)")
    }
  }
}
