import RuledCore
import Synchronization

/// The loops of timers: a timer whose event sets the next one, again and again, each as early as allowed.
package final class TimerLoops: Sendable {
  /// The rule that sets a loop's timers.
  private struct Rule: Hashable {
    let plugin: String
    let name: String
  }

  /// When the timers of a rule's loops are due, by the hash of the subject.
  private struct Loops {
    var dues: [UInt64: Int64] = [:]
    /// With this many subjects, those whose loops have ended are removed.
    var fullCount = 1024

    mutating func removeEnded(before time: Int64) { dues = dues.filter { $0.value >= time } }
  }

  /// How many timers in a row are a loop.
  static let least: Int64 = 60
  /// A loop whose next timer has been due for so many steps has ended.
  private static let endedSteps: Int64 = 10

  private let rules = Mutex<[Rule: Loops]>([:])

  /// Notes that a loop's next timer is due at `due`, in microseconds; true if the rule had no loop before.
  func note(_ plugin: String, rule: String, subject: ByteView, due: Int64, step: Int64) -> Bool {
    rules.withLock { rules in
      let rule = Rule(plugin: plugin, name: rule)
      var loops = rules.removeValue(forKey: rule) ?? Loops()
      defer { rules[rule] = loops }
      let isFirst = loops.dues.isEmpty
      loops.dues[hash64(subject)] = due
      if loops.dues.count >= loops.fullCount {
        loops.removeEnded(before: due - Self.endedSteps * step)
        loops.fullCount = max(1024, 2 * loops.dues.count)
      }
      return isFirst
    }
  }

  /// The rules that have loops at `now`, in microseconds, in order of plugin and name, and for how many subjects.
  package func all(now: Int64, step: Int64) -> [(plugin: String, rule: String, subjects: Int)] {
    rules.withLock { rules in
      for rule in rules.keys { rules[rule]?.removeEnded(before: now - Self.endedSteps * step) }
      rules = rules.filter { !$0.value.dues.isEmpty }
      return rules.map { (plugin: $0.key.plugin, rule: $0.key.name, subjects: $0.value.dues.count) }
        .sorted { ($0.plugin, $0.rule) < ($1.plugin, $1.rule) }
    }
  }
}
