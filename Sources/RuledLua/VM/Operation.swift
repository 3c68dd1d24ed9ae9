public import CLuaBridge
public import RuledCore

/// A request of a rule, such as a decision or an effect; nothing of it happens before the event is committed.
///
/// The bytes belong to the plugin's VM and are valid until its next call.
public enum Operation {
  /// Bytes of the VM.
  public typealias Bytes = ByteView

  public struct Effect {
    public let sink: Bytes
    public let type: Bytes
    /// JSON.
    public let data: Bytes
    public let id: Bytes
    /// Whether the rule gave a key: the effect is then recorded once for its subject.
    public let isKeyed: Bool
    /// Whether it is keyed and follows a `forget` of the same event, so that nothing recorded before the event counts as a repeat.
    public let followsForget: Bool

    @inlinable
    init(sink: Bytes, type: Bytes, data: Bytes, id: Bytes, isKeyed: Bool, followsForget: Bool) {
      self.sink = sink
      self.type = type
      self.data = data
      self.id = id
      self.isKeyed = isKeyed
      self.followsForget = followsForget
    }
  }

  public enum Amount {
    case integer(Int64)
    case number(Double)
  }

  public enum Placing {
    case set(Double)
    case add(Double)
    case leave
  }

  /// A rule's options for a board: how many microseconds after its last change it is removed, if ever, and whether the least score is first.
  public struct BoardOptions {
    public let keep: Int64?
    public let isLow: Bool

    @inlinable
    init(keep: Int64?, isLow: Bool) {
      self.keep = keep
      self.isLow = isLow
    }
  }

  /// A decision; the value is JSON.
  case decide(name: Bytes, value: Bytes)
  /// A decision that another rule of the plugin had made already.
  case shadowed(name: Bytes, byRule: Int)
  case emit(Effect)
  /// An event for the rules of all plugins; `chain` are the types that led to it, `depth` is how many raises deep it is.
  case raise(type: Bytes, data: Bytes, chain: Bytes, depth: Int)
  case send(subject: Bytes, type: Bytes, data: Bytes)
  /// `labels` is a JSON object whose members are in order; the counter is then kept for `keep` seconds, or 0 if the rule does not say.
  case count(name: Bytes, labels: Bytes, amount: Amount, keep: UInt32)
  /// A timer that is due at `due` in seconds since 1970; `schedule` is JSON if it repeats, else empty.
  case setTimer(name: Bytes, type: Bytes, data: Bytes, due: Double, schedule: Bytes)
  case cancelTimer(name: Bytes)
  /// Erases the plugin's state, timers, `once` keys, memberships and places for the subject; with `all` the subject, after the event.
  case forget(all: Bool)
  /// Erases the subject's past after the event: all but the plugins' present states and items.
  case forgetPast
  /// A line of the log; `level` is 0 (debug) to 3 (error), `fields` a JSON object or empty.
  case log(level: Int, message: Bytes, fields: Bytes)
  /// A claimed `once` key, for so many seconds or for ever.
  case once(key: Bytes, lifetime: Double?)
  /// A place on a board; `options` are nil if the board keeps its own.
  case place(board: Bytes, Placing, options: BoardOptions?)
  /// A path of the state that a rule read; recorded only for explanations.
  case read(path: Bytes)
  /// The value that a part of a `when` had, as text; recorded only for explanations.
  case part(number: Int, value: Bytes, isString: Bool)

  case joinTopic(name: Bytes)
  case leaveTopic(name: Bytes)
  /// An event for all members of a topic but the subject `except`, which may be empty.
  case publish(topic: Bytes, type: Bytes, data: Bytes, except: Bytes)

  public struct Kinds: OptionSet {
    /// One bit for each kind, counted as `rb_op_kind` does.
    public let rawValue: UInt32

    @inlinable
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    @inlinable
    init(_ kind: rb_op_kind) { rawValue = 1 << kind.rawValue }

    @inlinable package static var decide: Self { Self(RB_OP_DECIDE) }
    @inlinable package static var emit: Self { Self(RB_OP_EMIT) }
    @inlinable package static var raise: Self { Self(RB_OP_RAISE) }
    @inlinable package static var send: Self { Self(RB_OP_SEND) }
    @inlinable package static var count: Self { Self(RB_OP_COUNT) }
    @inlinable static var once: Self { Self(RB_OP_ONCE) }
    @inlinable package static var forget: Self { Self(RB_OP_FORGET) }
    @inlinable package static var forgetPast: Self { Self(RB_OP_FORGET_PAST) }
    @inlinable package static var log: Self { Self(RB_OP_LOG) }
    @inlinable static var place: Self { Self(RB_OP_PLACE) }
    @inlinable package static var setTimer: Self { Self(RB_OP_TIMER_SET) }
    @inlinable static var cancelTimer: Self { Self(RB_OP_TIMER_CANCEL) }
    @inlinable static var joinTopic: Self { Self(RB_OP_TOPIC_JOIN) }
    @inlinable static var leaveTopic: Self { Self(RB_OP_TOPIC_LEAVE) }
    @inlinable package static var publish: Self { Self(RB_OP_PUBLISH) }
    @inlinable static var topics: Self { Self(rawValue: Self.joinTopic.rawValue | Self.leaveTopic.rawValue) }
    /// The kinds that explanations alone have.
    @inlinable package static var explaining: Self { [Self(RB_OP_READ), Self(RB_OP_PART)] }
    /// The kinds of which a later operation may undo an earlier one.
    @inlinable package static var collapsing: Self {
      Self(
        rawValue: Self.emit.rawValue | Self.setTimer.rawValue | Self.cancelTimer.rawValue | Self.forget.rawValue
          | Self.topics.rawValue)
    }
    /// The kinds with later consequences: messages, timers, publications and memberships.
    @inlinable package static var consequences: Self {
      Self(
        rawValue: Self.send.rawValue | Self.setTimer.rawValue | Self.cancelTimer.rawValue | Self.forget.rawValue
          | Self.topics.rawValue | Self.publish.rawValue)
    }
    /// The kinds that are written beside the plugin's state, the outcome and the counters.
    @inlinable package static var written: Self {
      Self(
        rawValue: Self.collapsing.rawValue | Self.send.rawValue | Self.once.rawValue | Self.place.rawValue
          | Self.publish.rawValue)
    }
  }
}
