import Glibc
import Synchronization

/// A client of one connection that keeps a number of requests under way and knows which were answered.
///
/// What was not answered when a connection broke is sent again, in the same order, under the same ids.
final class Load: Sendable {
  private struct Values {
    let all: [(id: String, line: [UInt8])]
    var unanswered: [(id: String, line: [UInt8])]
    var failed: Set<String> = []
    var answered = 0
    var errors: [String] = []
    var duplicates = 0
  }

  private let values: Mutex<Values>
  private let window: Int

  /// Requests as whole lines with their ids, which are strings without escapes.
  init(_ requests: [(id: String, line: String)], window: Int = 512) {
    let all = requests.map { ($0.id, Array($0.line.utf8)) }
    values = Mutex(Values(all: all, unanswered: all))
    self.window = window
  }

  /// An event's request.
  static func event(_ id: String, _ type: String, _ subject: String, _ data: String) -> (id: String, line: String) {
    let params = "{\"type\":\"\(type)\",\"subject\":\"\(subject)\",\"id\":\"\(id)\",\"data\":\(data)}"
    return (id, "{\"jsonrpc\":\"2.0\",\"id\":\"\(id)\",\"method\":\"event\",\"params\":\(params)}\n")
  }

  /// How many have been answered.
  var answered: Int { values.withLock { $0.answered } }

  /// What was answered with an error.
  var errors: [String] { values.withLock { $0.errors } }

  /// How many answers said that they repeat an earlier one.
  var duplicates: Int { values.withLock { $0.duplicates } }

  /// Whether all are answered.
  var isDone: Bool { values.withLock { $0.unanswered.isEmpty } }

  /// Takes the errors back and counts what came to one as unanswered.
  func resendFailed() {
    values.withLock { values in
      let open = values.failed.union(values.unanswered.map(\.id))
      values.answered -= values.failed.count
      values.unanswered = values.all.filter { open.contains($0.id) }
      values.failed = []
      values.errors = []
    }
  }

  /// Sends what is unanswered and takes the answers, until all are there or the daemon is gone; `answer` sees each.
  func run(_ socket: String, _ answer: (String) -> Void = { _ in }) {
    guard let client = try? Client(socket) else { return }
    let requests = values.withLock { $0.unanswered }
    var answeredIDs: Set<String> = []
    var next = 0
    var taken = 0
    reading: while taken < requests.count {
      if next < requests.count, next - taken <= window / 2 {
        var bytes: [UInt8] = []
        while next < requests.count, next - taken < window {
          bytes += requests[next].line
          next += 1
        }
        guard client.send(bytes) else { break }
      }
      repeat {
        guard let line = client.line() else { break reading }
        taken += 1
        if let id = Self.id(of: line) { answeredIDs.insert(id) }
        note(line)
        answer(line)
      } while next - taken > window / 2 || (next == requests.count && taken < next)
    }
    values.withLock { values in values.unanswered.removeAll { answeredIDs.contains($0.id) } }
  }

  private func note(_ line: String) {
    values.withLock { values in
      values.answered += 1
      if line.holds("\"error\":{") {
        values.errors.append(line)
        if let id = Self.id(of: line) { values.failed.insert(id) }
      }
      if line.holds("\"duplicate\":true") { values.duplicates += 1 }
    }
  }

  /// The id of a reply.
  private static func id(of line: String) -> String? {
    guard let start = line.place(of: "\"id\":\"") else { return nil }
    return String(decoding: line.utf8.dropFirst(start + 6).prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
  }
}

extension String {
  /// Whether some ASCII stands in the text; quick even where nothing is optimized.
  func holds(_ words: String) -> Bool { place(of: words) != nil }

  /// Where some ASCII begins in the text's UTF-8.
  func place(of words: String) -> Int? {
    withCString { text in strstr(text, words).map { UnsafePointer($0) - text } }
  }
}
