import Glibc
import RuledCore
import Testing

@testable import RuledWire

/// The lines of `Fuzz/wire/seeds.ndjson`, from which mutated input is made.
enum Seeds {
  static func lines(file: StaticString = #filePath) throws -> [[UInt8]] {
    let root = "\(file)".split(separator: "/").dropLast(3).joined(separator: "/")
    let handle = try #require(fopen("/\(root)/Fuzz/wire/seeds.ndjson", "r"))
    defer { fclose(handle) }
    let buffer = ByteBuffer()
    while true {
      let isAtEnd = buffer.append(upTo: 4096) { span in
        span.withUnsafeMutableBytes { memory, count in
          count = fread(memory.baseAddress, 1, memory.count, handle)
          return count == 0
        }
      }
      if isAtEnd { break }
    }
    return buffer.bytes.split(separator: UInt8(ascii: "\n")).map { Array($0) }
  }
}
