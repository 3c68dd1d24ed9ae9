import RuledCore
import TestSupport
import Testing

@testable import RuledJSON

/// The parser, and the reader that tests compare it with, against the verdicts of JSONTestSuite.
///
/// No case that is to be taken is nested deeper than 64 or longer than a line may be, so the daemon's own limits change no verdict.
@Suite struct JSONVerdictTests {
  @Test func `all cases are there`() {
    let cases = JSONVerdict.all()
    #expect(cases.count { $0.isJSON } == 95)
    #expect(cases.count { !$0.isJSON } == 188)
    #expect(cases.map { $0.bytes.count }.max() == 250_001)
    #expect(cases.allSatisfy { $0.bytes.count <= Limits.requestBytes })
  }

  @Test(arguments: JSONVerdict.all())
  func `both readers take JSON and refuse other texts`(_ example: JSONVerdict) {
    let document = TapeDocument()
    let padded = example.bytes + [UInt8](repeating: 0x31, count: 64)
    padded.withView { buffer in
      let bytes = buffer.extracting(..<example.bytes.count)
      #expect(((try? document.parse(bytes)) != nil) == example.isJSON)
      #expect(((try? document.parse(bytes, readable: buffer.count)) != nil) == example.isJSON)
      #expect(((try? JSONValue(parsing: bytes)) != nil) == example.isJSON)
      #expect(((try? JSONValue(parsing: bytes, maximumDepth: 128)) != nil) == example.isJSON)
      #expect(((try? ReferenceJSON.value(of: bytes)) != nil) == example.isJSON)
    }
  }
}
