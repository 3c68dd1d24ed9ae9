import RuledCore
import RuledWire
import Testing

@testable import RuledNodes

/// What a node that follows knows of the requests that it has carried to the owner.
@Suite struct UnansweredRequestsTests {
  private let parser = RequestParser()
  private let all = UnansweredCount()

  private func add(_ text: String, to requests: inout UnansweredRequests) -> Bool {
    Array(text.utf8).withView { requests.add(parser.parseRequest($0)) }
  }

  private func note(_ text: String, in requests: inout UnansweredRequests) -> Bool? {
    Array(text.utf8).withView { line in ReplyHead(line).map { requests.noteAnswer($0) } }
  }

  private func refused(_ requests: inout UnansweredRequests) -> [String] {
    let buffer = ByteBuffer()
    let count = requests.refuse(RequestError(.unavailable, "gone"), to: buffer)
    let lines = buffer.text.split(separator: "\n").map(String.init)
    #expect(lines.count == count)
    return lines
  }

  private func request(_ id: String, _ method: String = "health") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":{}}"#
  }

  private func reply(_ id: String, _ rest: String = #""result":{}"#) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),\#(rest)}"#
  }

  @Test(arguments: ["1", #""a""#, #""a\"],\\""#, "-7", "null"])
  func `a reply answers the request with its id, once`(id: String) {
    var requests = UnansweredRequests(all)
    #expect(add(request(id), to: &requests))
    #expect(add(request(#""other""#), to: &requests))
    #expect(note(reply(id), in: &requests) == true)
    #expect(note(reply(id), in: &requests) == false)
    #expect(requests.count == 1)
    let lines = refused(&requests)
    #expect(lines.count == 1 && lines[0].hasPrefix(#"{"jsonrpc":"2.0","id":"other","error":"#))
    #expect(requests.count == 0)
  }

  @Test func `a notification is not waited for, and a reply that nobody asked for answers nothing`() {
    var requests = UnansweredRequests(all)
    #expect(!add(#"{"jsonrpc":"2.0","method":"event","params":{}}"#, to: &requests))
    #expect(note(#"{"jsonrpc":"2.0","method":"changed","params":{"watch":1}}"#, in: &requests) == false)
    #expect(note(reply("5"), in: &requests) == false)
    #expect(requests.count == 0)
  }

  @Test func `a batch is answered by one array, and refused by one with all its ids`() {
    var requests = UnansweredRequests(all)
    let batch = "[\(request("1")),\(request(#""x""#)),\(#"{"jsonrpc":"2.0","method":"health"}"#)]"
    #expect(add(batch, to: &requests) && add(batch, to: &requests))
    #expect(note("[\(reply("1")),\(reply(#""x""#))]", in: &requests) == true)
    #expect(requests.count == 1)
    let lines = refused(&requests)
    #expect(lines.count == 1)
    let answer = Array(lines[0].utf8)
    #expect(answer.first == UInt8(ascii: "[") && answer.last == UInt8(ascii: "]"))
    #expect(lines[0].contains(#""id":1,"error""#) && lines[0].contains(#""id":"x","error""#))
  }

  @Test func `a line that is no JSON and a batch that is refused whole have the id null`() {
    var requests = UnansweredRequests(all)
    #expect(add("{nothing", to: &requests))
    #expect(note(reply("null", #""error":{"code":-32700}"#), in: &requests) == true)
    #expect(add("[\(request("1"))]", to: &requests))
    #expect(note(reply("null", #""error":{"code":-32600}"#), in: &requests) == true)
    #expect(requests.count == 0)
  }

  @Test func `watches are counted until they are ended or refused`() {
    var requests = UnansweredRequests(all)
    _ = add(request("1", "watch"), to: &requests)
    _ = add(request("2", "watch"), to: &requests)
    #expect(requests.watches == 2)
    _ = note(reply("2", #""error":{"code":-32602}"#), in: &requests)
    #expect(requests.watches == 1)
    _ = note(reply("1"), in: &requests)
    _ = add(request("3", "unwatch"), to: &requests)
    _ = note(reply("3"), in: &requests)
    #expect(requests.watches == 0)
  }

  @Test func `the start of a line tells whose answer it is, as soon as it has the id`() {
    let line = Array(reply(#""long id""#, #""error":{"code":-32603,"message":"…"}"#).utf8)
    let whole = Array(#"{"jsonrpc":"2.0","id":"long id","error":"#.utf8).count
    for length in 0...line.count {
      line[0..<length].withView { start in
        let head = ReplyHead(start)
        #expect((head != nil) == (length >= whole), "with \(length) bytes")
        if case .answer(let id, let isError)? = head {
          #expect(String(decoding: id, as: UTF8.self) == #""long id""# && isError)
        }
      }
    }
  }

  @Test func `many requests are answered in any order, and those of one id in theirs`() {
    var requests = UnansweredRequests(all)
    for id in 0..<20_000 { #expect(add(request("\(id)"), to: &requests)) }
    for _ in 0..<20_000 { #expect(add(request("7", "watch"), to: &requests)) }
    for id in (0..<20_000).reversed() where id % 4 != 0 { #expect(note(reply("\(id)"), in: &requests) == true) }
    for _ in 0..<20_000 { #expect(note(reply("7", #""error":{}"#), in: &requests) == true) }
    #expect(note(reply("7"), in: &requests) == false)
    #expect(requests.count == 5_000 && requests.watches == 0)
    #expect(refused(&requests).count == 5_000)
  }

  @Test func `the waiting requests of all clients are counted and bounded, by number and by the bytes of their ids`() {
    var requests = [UnansweredRequests(all), UnansweredRequests(all)]
    #expect(add("[\(request("1")),\(request("2"))]", to: &requests[0]) && add(request("1"), to: &requests[1]))
    #expect(all.isFull(3) && !all.isFull(4))
    #expect(note(reply("1"), in: &requests[1]) == true)
    #expect(!all.isFull(3))
    #expect(add(request(#""long id""#), to: &requests[1]))
    #expect(all.isFull(.max, idBytes: 11) && !all.isFull(.max, idBytes: 12))
    for index in requests.indices { _ = refused(&requests[index]) }
    #expect(!all.isFull(1, idBytes: 1))
  }
}
