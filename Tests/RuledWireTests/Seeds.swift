import Glibc
import RuledCore
import Testing

@testable import RuledWire

/// The lines of `Fuzz/wire/seeds.ndjson`, from which mutated input is made.
enum Seeds {
  /// Reads the lines, with the framer that the daemon reads its sockets with.
  static func lines(file: StaticString = #filePath) throws -> [[UInt8]] {
    let root = "\(file)".split(separator: "/").dropLast(3).joined(separator: "/")
    let handle = try #require(fopen("/\(root)/Fuzz/wire/seeds.ndjson", "r"))
    defer { fclose(handle) }
    let buffer = ByteBuffer()
    var framer = LineFramer()
    var lines: [[UInt8]] = []
    while true {
      framer.prepare(buffer, room: 100)
      let count = fread(buffer.base + buffer.count, 1, 100, handle)
      buffer.advance(count)
      while let frame = framer.next(in: buffer) {
        if case .line(let line, _) = frame { lines.append(Array(line)) }
      }
      if count == 0 { return lines }
    }
  }
}
