import Glibc
import RuledCore
import Testing

@testable import RuledWire

/// The lines of `Fuzz/wire/seeds.ndjson`, from which mutated input is made.
enum Seeds {
  /// Reads the lines.
  static func lines(file: StaticString = #filePath) throws -> [[UInt8]] {
    let root = "\(file)".split(separator: "/").dropLast(3).joined(separator: "/")
    let handle = try #require(fopen("/\(root)/Fuzz/wire/seeds.ndjson", "r"))
    defer { fclose(handle) }
    let buffer = ByteBuffer()
    while true {
      if buffer.append(upTo: 4096, { fread($0.baseAddress, 1, $0.count, handle) }) == 0 { break }
    }
    return buffer.bytes.split(separator: UInt8(ascii: "\n")).map { Array($0) }
  }
}
