public import CLuaBridge
public import RuledCore

/// The operations of one event and plugin, in the order in which rules asked for them.
public struct Operations: RandomAccessCollection {
  @usableFromInline let operations: UnsafeBufferPointer<rb_op>
  @usableFromInline let bytes: UnsafeRawPointer?

  @usableFromInline
  init(_ operations: UnsafeBufferPointer<rb_op>, bytes: UnsafeRawPointer?) {
    self.operations = operations
    self.bytes = bytes
  }

  public var startIndex: Int { @inlinable get { 0 } }
  public var endIndex: Int { @inlinable get { operations.count } }

  /// The kind of the operation at `index`, as a set of one.
  @inlinable
  public func kind(at index: Int) -> Operation.Kinds {
    Operation.Kinds(rawValue: 1 << UInt32(operations[index].kind))
  }

  /// Whether a later operation of the event undoes the one at `index`, or it repeats an earlier effect; known after `collapseOperations`.
  @inlinable
  public func isVoid(at index: Int) -> Bool { operations[index].flags & UInt8(RB_OP_VOID) != 0 }

  @inlinable
  public func rule(at index: Int) -> Int { Int(operations[index].rule) }

  @inlinable
  @inline(__always)
  public subscript(index: Int) -> Operation {
    let operation = operations[index]
    let a = slice(operation.a, operation.a_length)
    switch rb_op_kind(UInt32(operation.kind)) {
    case RB_OP_DECIDE: return .decide(name: a, value: slice(operation.b, operation.b_length))
    case RB_OP_SHADOWED: return .shadowed(name: a, byRule: Int(operation.integer))
    case RB_OP_EMIT:
      return .emit(
        Operation.Effect(
          sink: a, type: slice(operation.b, operation.b_length), data: slice(operation.c, operation.c_length),
          id: slice(operation.d, operation.d_length), isKeyed: operation.flags & UInt8(RB_OP_KEYED) != 0,
          followsForget: operation.flags & UInt8(RB_OP_FOLLOWS_FORGET) != 0))
    case RB_OP_RAISE:
      return .raise(
        type: a, data: slice(operation.b, operation.b_length), chain: slice(operation.c, operation.c_length),
        depth: Int(operation.integer))
    case RB_OP_SEND:
      return .send(
        subject: a, type: slice(operation.b, operation.b_length), data: slice(operation.c, operation.c_length))
    case RB_OP_COUNT:
      return .count(
        name: a, labels: slice(operation.b, operation.b_length),
        amount: operation.flags & 1 != 0 ? .number(operation.number) : .integer(operation.integer), keep: operation.c)
    case RB_OP_TIMER_SET:
      return .setTimer(
        name: a, type: slice(operation.b, operation.b_length), data: slice(operation.c, operation.c_length),
        due: operation.number, schedule: slice(operation.d, operation.d_length))
    case RB_OP_TIMER_CANCEL: return .cancelTimer(name: a)
    case RB_OP_FORGET: return .forget(all: operation.flags & UInt8(RB_OP_ALL) != 0)
    case RB_OP_FORGET_PAST: return .forgetPast
    case RB_OP_LOG:
      return .log(level: Int(operation.integer), message: a, fields: slice(operation.b, operation.b_length))
    case RB_OP_ONCE: return .once(key: a, lifetime: operation.flags & 1 != 0 ? operation.number : nil)
    case RB_OP_PLACE: return .place(board: a, placing(operation), options: options(operation))
    case RB_OP_PART:
      return .part(number: Int(operation.integer), value: a, isString: operation.flags & 1 != 0)
    case RB_OP_TOPIC_JOIN: return .joinTopic(name: a)
    case RB_OP_TOPIC_LEAVE: return .leaveTopic(name: a)
    case RB_OP_PUBLISH:
      return .publish(
        topic: a, type: slice(operation.b, operation.b_length), data: slice(operation.c, operation.c_length),
        except: slice(operation.d, operation.d_length))
    default: return .read(path: a)
    }
  }

  @inlinable
  func placing(_ operation: rb_op) -> Operation.Placing {
    switch Int(operation.flags) & 3 {
    case RB_OP_ADD: .add(operation.number)
    case RB_OP_LEAVE: .leave
    default: .set(operation.number)
    }
  }

  /// The options of a board; nil for a call without any.
  @inlinable
  func options(_ operation: rb_op) -> Operation.BoardOptions? {
    guard Int(operation.flags) & RB_OP_OPTIONS != 0 else { return nil }
    return Operation.BoardOptions(
      keep: operation.integer > 0 ? operation.integer : nil, isLow: Int(operation.flags) & RB_OP_LOW != 0)
  }

  @inlinable
  @inline(__always)
  func slice(_ offset: UInt32, _ length: UInt32) -> Operation.Bytes {
    guard length > 0, let bytes else { return Operation.Bytes(start: nil, count: 0) }
    return Operation.Bytes(start: bytes + Int(offset), count: Int(length))
  }
}
