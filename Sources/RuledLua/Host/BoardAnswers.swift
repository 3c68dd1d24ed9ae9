import CLuaBridge
import RuledCore

extension PluginVM {
  func answerBoard(_ call: rb_call, _ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    if call == RB_CALL_BOARD_KEEP {
      return answers.add(Int(DurationText.parseWhole(try arguments.bytes(0, "keep")) ?? 0))
    }
    guard let host else { throw HostRefusal("not offered here") }
    let board = try arguments.bytes(0, "the board")
    switch call {
    case RB_CALL_BOARD_TOP, RB_CALL_BOARD_AROUND:
      let selection: BoardSelection =
        call == RB_CALL_BOARD_TOP
        ? .top(try arguments.integer(1), from: try arguments.integer(2))
        : .around(try arguments.bytes(1, "the subject"), try arguments.integer(2))
      host.places(selection, onBoard: board, of: self, into: answers.buffer) { rb_vm_expired(handle) }
      answers.addBuffer(RB_JSON)
    case RB_CALL_BOARD_RANK:
      guard let rank = host.rank(of: try arguments.bytes(1, "the subject"), onBoard: board, of: self) else {
        return answers.addNil()
      }
      answers.add(rank)
    default: answers.add(host.placeCount(onBoard: board, of: self))
    }
  }
}

extension HostArguments {
  fileprivate func integer(_ index: Int) throws(HostRefusal) -> Int {
    Int(exactly: try number(index, "a number")) ?? .max
  }
}
