import RuledCore
import Testing

@Suite struct ByteViewTests {
  private let bytes: [UInt8] = Array("0123456789".utf8)

  @Test func `a part has the bytes of its range, counted from 0`() {
    bytes.withView { view in
      let part = view.extracting(2..<5)
      #expect(Array(part) == Array("234".utf8))
      #expect(part[0] == UInt8(ascii: "2"))
      #expect(Array(part.extracting(1...)) == Array("34".utf8))
      #expect(view.extracting(droppingFirst: 11).isEmpty)
      #expect(Array(view.extracting(first: 3)) == Array("012".utf8))
      #expect(view.extracting(first: 11).count == 10)
    }
  }

  @Test func `integers are loaded from any offset`() {
    bytes.withView { view in
      #expect(UInt32(bigEndian: view.load(at: 1, as: UInt32.self)) == 0x3132_3334)
      #expect(UInt64(bigEndian: view.load(at: 2, as: UInt64.self)) == 0x3233_3435_3637_3839)
    }
  }

  @Test func `a view without bytes is like any other`() {
    #expect(Array(ByteView.empty) == [])
    #expect(String(decoding: ByteView.empty, as: UTF8.self) == "")
    [UInt8]().withView { #expect($0.isEmpty && ByteOrder.equal($0, .empty)) }
    #expect("é".withView { Array($0) } == [0xC3, 0xA9])
  }

  @Test func `access outside of the bounds traps`() async {
    await #expect(processExitsWith: .failure) { _ = ByteView("abc")[3] }
    await #expect(processExitsWith: .failure) { _ = ByteView("abc").extracting(1..<4) }
    await #expect(processExitsWith: .failure) { _ = ByteView("abc").load(at: 0, as: UInt32.self) }
  }

  #if DEBUG
    @Test func `a view traps after its buffer changed or was freed, and after the call that lent it`() async {
      await #expect(processExitsWith: .failure) {
        let buffer = ByteBuffer()
        buffer.append(UInt8(1))
        let view = buffer.bytes
        buffer.append(UInt8(2))
        _ = view[0]
      }
      await #expect(processExitsWith: .failure) {
        let view = {
          let buffer = ByteBuffer()
          buffer.append(UInt8(1))
          return buffer.bytes
        }()
        _ = view[0]
      }
      await #expect(processExitsWith: .failure) {
        let view = [1, 2].withView { $0 }
        _ = view[0]
      }
    }
  #endif

  @Test func `the common prefix and suffix of two texts are told byte by byte`() {
    let text = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
    for changed in text.indices {
      var other = text
      other[changed] = 0
      text.withView { text in
        other.withView { other in
          #expect(ByteOrder.commonPrefix(of: text, other) == changed)
          #expect(ByteOrder.commonSuffix(of: text, other) == text.count - changed - 1)
          #expect(ByteOrder.commonSuffix(of: text, other, most: 5) == min(5, text.count - changed - 1))
          let (part, whole) = (text.extracting(changed...), text.count - changed)
          #expect(ByteOrder.commonSuffix(of: part, text) == whole)
        }
      }
    }
  }
}
