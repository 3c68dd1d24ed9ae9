import RuledCore
import TestSupport
import Testing

@testable import RuledStore

@Suite struct FileReceiverTests {
  private let folder = TemporaryFolder()

  @Test func `the pieces in which a file comes do not change its checksum`() throws {
    let bytes = (0..<(5 << 19)).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) }
    var sums: [FileSum] = []
    for (index, piece) in [1 << 20, 5 << 19, 100_000, (1 << 20) + 1].enumerated() {
      let target = folder("\(index)")
      try Folder.create(target)
      let receiver = try FileReceiver("file", in: target)
      try bytes[..<1000].withContiguousView { (view) throws(StoreError) in try receiver.append(view) }
      try receiver.restart()
      for start in stride(from: 0, to: bytes.count, by: piece) {
        try bytes[start..<min(start + piece, bytes.count)].withContiguousView { (view) throws(StoreError) in
          try receiver.append(view)
        }
      }
      sums.append(try receiver.finish())
      #expect(try FileSum.read("file", in: target) { _ in } == sums[index])
    }
    #expect(sums[0].bytes == bytes.count && sums.allSatisfy { $0 == sums[0] })
  }

  @Test func `without a folder only the checksum is made, and an existing file is kept`() throws {
    folder.write("file", "text")
    let receiver = try FileReceiver("file")
    try Array("text".utf8).withView { (view) throws(StoreError) in try receiver.append(view) }
    #expect(try receiver.finish() == FileSum.read("file", in: folder.path) { _ in })
    #expect(throws: StoreError.self) { try FileReceiver("file", in: folder.path) }
    #expect(folder.read("file") == "text")
  }
}

extension ArraySlice<UInt8> {
  fileprivate func withContiguousView(_ body: (ByteView) throws(StoreError) -> Void) throws(StoreError) {
    try Array(self).withView { (view) throws(StoreError) in try body(view) }
  }
}
