import RuledCore
import TestSupport
import Testing

@testable import RuledWire

@Suite("The subject before parsing")
struct EventSubjectTests {
  /// The subject found in a line that has room behind it, full of what could mislead.
  private func foundSubject(in line: [UInt8]) -> String? {
    let behind = Array(#""subject":"behind","method":"event"\\\\"subject":"behind""#.utf8)
    let padded = line + behind + [UInt8](repeating: 0, count: 64)
    return padded.withView { bytes in
      bytes.extracting(..<line.count).eventSubject.map { String(decoding: $0, as: UTF8.self) }
    }
  }

  private func foundSubject(in line: String) -> String? { foundSubject(in: Array(line.utf8)) }

  @Test(arguments: [
    #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"t","subject":"user:1"}}"#,
    #"{"params":{"subject":"user:1","type":"t"},"method":"event","jsonrpc":"2.0"}"#,
    #" { "method" : "event" , "params" : { "subject"  : "user:1", "source":"s", "data":{"more":"méthode"} } } "#,
  ])
  func `The subject is found in events as clients write them`(line: String) {
    #expect(foundSubject(in: line) == "user:1")
  }

  @Test(arguments: [
    "", " ", "{", "7", "{}", #"{"method":"event"}"#, #"{"subject":"s"}"#, #"{"method":"event","subject":"s"#,
    #"[{"method":"event","params":{"subject":"s"}}]"#,
    #"{"method":"query","params":{"subject":"s"}}"#, #"{"method":"watch","params":{"subject":"s"}}"#,
    #"{"method":"event","params":{"subject":7}}"#, #"{"method":"event","params":{"subject":null}}"#,
    #"{"method":"event","params":{"subject":"s","data":"\n"}}"#,
    #"{"method":"event","params":{"\u0073ubject":"a","subject":"s"}}"#,
    #"{"method":"event","params":{"data":{"subject":"a"},"subject":"s"}}"#,
    #"{"method":"event","params":{"subject":"s","subject":"s"}}"#,
    #"{"method":"event","method":"watch","params":{"subject":"s"}}"#,
    #"{"method":"watch","params":{"subject":"s","data":{"method":"event"}}}"#,
    #"{"method":"event","params":{"type":"subject","source":"x"}}"#,
    #"{"id":"subject","method":"event","params":{"subject":"s"}}"#,
  ])
  func `A subject that could be another one is not found`(line: String) { #expect(foundSubject(in: line) == nil) }

  @Test
  func `A subject that is found is right, or the line is refused`() {
    let seeds = [
      #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"t","subject":"user:1","data":{"a":[1,"s"]}}}"#,
      #"{"jsonrpc":"2.0","method":"event","params":{"subject":"s","data":{"subject":"m","method":"s"}},"id":"x"}"#,
      #"{"id":null,"params":{"data":"subject","subject":"é","type":"m"},"method":"event","jsonrpc":"2.0"}"#,
    ].map { Array($0.utf8) }
    let names = [#""subject":"#, #""subject""#, #""method":"event","#, #""event""#]
    let pieces = (names + ["\\", "\"", ":", ",", "{", "}", "s", "m", " "]).map { Array($0.utf8) }
    var random = SeededRandom(seed: 12)
    let parser = RequestParser()
    var toldOf = 0
    for _ in 0..<40_000 {
      var line = seeds.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let place = Int.random(in: 0..<line.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: line.removeSubrange(place..<min(line.count, place + Int.random(in: 1...12, using: &random)))
        case 1: line.insert(contentsOf: pieces.randomElement(using: &random) ?? [], at: place)
        default:
          let end = min(line.count, place + Int.random(in: 1...24, using: &random))
          line.insert(contentsOf: line[place..<end], at: Int.random(in: 0..<line.count, using: &random))
        }
        if line.isEmpty { line = seeds[0] }
      }
      guard let subject = foundSubject(in: line) else { continue }
      line.withView { bytes in
        guard case .single(let message) = parser.parseRequest(bytes) else {
          if case .batch = parser.parseRequest(bytes) { Issue.record("a batch") }
          return
        }
        guard case .request(let request) = message else { return }
        #expect(request.method == .event)
        guard let event = try? EventView(request) else { return }
        #expect(String(decoding: event.subject, as: UTF8.self) == subject)
        toldOf += 1
      }
    }
    #expect(toldOf > 1000)
  }
}
