import RuledCore
import RuledEngine
import TestSupport
import Testing

@testable import RuledServer

/// Events of the clients of a node that evaluates for the owner of the log, about subjects that the owner has.
@Suite struct ClientEventsTests {
  /// A subject of each half of the partitions: the first half stays with the owner.
  private static func subject(isLent: Bool) -> String {
    (0..<1000).lazy.map { "s\($0)" }.first { (Partition(of: Array($0.utf8)).index >= 128) == isLent } ?? ""
  }

  private static func event(_ subject: String, id: String?) -> String {
    let id = id.map { #""id":"\#($0)","# } ?? ""
    return #"{"jsonrpc":"2.0",\#(id)"method":"event","params":{"type":"n","subject":"\#(subject)","data":{}}}"#
  }

  @Test func `they go over the share, and their replies come back by their numbers`() throws {
    let clients = OwnClients()
    let loop = try EventLoop()
    var send: ((RequestBundle) -> Void)?
    var partitions = PartitionSet()
    var replies: [UInt64: String] = [:]
    var expected = 0
    try clients.events.attach(to: loop) { events in
      for event in events {
        switch event {
        case .arrived(let set, _, let way):
          partitions.formUnion(set)
          send = way
          if partitions.count == 128 { loop.stop() }
        case .replies:
          var gathered = ReplyBundle()
          clients.take(into: &gathered)
          gathered.forEach { replies[$1.connection] = String(decoding: $0, as: UTF8.self) }
          if replies.count == expected { loop.stop() }
        case .leaving(_, let done): done()
        case .ended(let reason): Issue.record("\(reason)")
        }
      }
    }
    try loop.timer(after: 60_000) { loop.stop() }
    let rig = try SharingRig(clients: clients)
    loop.run()
    try #require(partitions.count == 128)
    let (here, there) = (Self.subject(isLent: true), Self.subject(isLent: false))
    let events = [Self.event(there, id: "a"), Self.event(there, id: "b"), Self.event(here, id: "c")]
    let texts = events + ["{", Self.event(there, id: nil)]
    expected = texts.count
    let bundle = RequestBundle()
    for (number, text) in texts.enumerated() {
      Array(text.utf8).withView {
        bundle.append($0, to: ReplyTarget(.standby, connection: UInt64(number + 1), isAdmin: false), subject: 0)
      }
    }
    send?(bundle)
    loop.run()
    #expect(replies.count == expected)
    #expect(replies[1]?.contains(#""n":1"#) == true && replies[2]?.contains(#""n":2"#) == true)
    #expect(replies[3]?.contains(#""n":1"#) == true, "the owner passes what is lent on")
    #expect(replies[4]?.contains(#""error""#) == true && replies[5] == "")
    #expect(rig.owner.services.inFlight.load(ordering: .relaxed) == 0)
    rig.stop()
    clients.events.close()
    loop.close()
  }
}
