import RuledCore
import RuledLua

/// What an event came to.
struct Outcome: Equatable {
  /// What was decided, each value as JSON.
  var decisions: [String: String] = [:]
  /// All operations, each as a line.
  var operations: [String] = []
  /// The state, as JSON; nil when something failed.
  var state: String?
  var fired: [String] = []
  var failure: Failure?

  /// Notes an operation as a line of its name and its parts.
  mutating func note(_ operation: Operation) {
    func text(_ bytes: Operation.Bytes) -> String { String(decoding: bytes, as: UTF8.self) }
    let parts: [String] =
      switch operation {
      case .decide(let name, let value): ["decide", text(name), text(value)]
      case .shadowed(let name, let rule): ["shadowed", text(name), "\(rule)"]
      case .emit(let effect): ["emit", text(effect.sink), text(effect.type), text(effect.data), text(effect.id)]
      case .raise(let type, let data, let chain, _): ["raise", text(type), text(data), text(chain)]
      case .send(let subject, let type, let data): ["send", text(subject), text(type), text(data)]
      case .count(let name, let labels, let amount, let keep):
        ["count", text(name), text(labels), "\(amount)", keep > 0 ? "\(keep)" : ""]
      case .setTimer(let name, let type, let data, let due, let schedule):
        ["timer.set", text(name), text(type), text(data), "\(due)", text(schedule)]
      case .cancelTimer(let name): ["timer.cancel", text(name)]
      case .forget: ["forget"]
      case .forgetPast: ["forget past"]
      case .log(_, let message, let fields): ["log", text(message), text(fields)]
      case .once(let key, _): ["once", text(key)]
      case .place(let board, let placing, let options):
        ["place", text(board), "\(placing)", options.map { "\($0.keep ?? 0) \($0.isLow)" } ?? ""]
      case .joinTopic(let name): ["topic.join", text(name)]
      case .leaveTopic(let name): ["topic.leave", text(name)]
      case .publish(let topic, let type, let data, let except):
        ["publish", text(topic), text(type), text(data), text(except)]
      case .read(let path): ["read", text(path)]
      case .part(let number, let value, _): ["part", "\(number)", text(value)]
      }
    if case .decide(let name, let value) = operation { decisions[text(name)] = text(value) }
    operations.append(parts.filter { !$0.isEmpty }.joined(separator: " "))
  }
}
