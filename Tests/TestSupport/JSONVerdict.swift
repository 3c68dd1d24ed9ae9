import Glibc

/// The cases of `Tests/Data/json-verdicts.txt`: what every JSON reader must accept, and what it must refuse.
package struct JSONVerdict: Sendable, CustomStringConvertible {
  package let name: String
  package let isJSON: Bool
  /// The bytes: `unit`, `count` times, followed by `rest`.
  package let parts: (unit: [UInt8], count: Int, rest: [UInt8])

  package var bytes: [UInt8] { Array(repeatElement(parts.unit, count: parts.count).joined()) + parts.rest }

  package var description: String { name }

  package static func all() -> [JSONVerdict] {
    let file: StaticString = #filePath
    let root = "\(file)".split(separator: "/").dropLast(2).joined(separator: "/")
    guard let handle = fopen("/\(root)/Data/json-verdicts.txt", "r") else { return [] }
    defer { fclose(handle) }
    var text: [UInt8] = []
    var byte = fgetc(handle)
    while byte != EOF {
      text.append(UInt8(truncatingIfNeeded: byte))
      byte = fgetc(handle)
    }
    return String(decoding: text, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }.map(read)
  }

  private static func read(_ line: Substring) -> JSONVerdict {
    let words = line.split(separator: " ")
    let run = (words.count > 2 ? words[2] : "").split(separator: "*")
    let unit = bytes(run.first ?? "")
    let count = run.count > 1 ? Int(run[1]) ?? 0 : 1
    return JSONVerdict(
      name: String(words[1]), isJSON: words[0] == "y", parts: (unit, count, bytes(words.count > 3 ? words[3] : "")))
  }

  private static func bytes(_ digits: Substring) -> [UInt8] {
    let digits = Array(digits.utf8)
    return stride(from: 0, to: digits.count - 1, by: 2).map { index in
      UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) ?? 0
    }
  }
}
