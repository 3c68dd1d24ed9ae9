import RuledCore
import Synchronization

/// Which partitions are evaluated elsewhere: on the owner of the log, those that it has lent; on another node, all that it was not lent.
///
/// Any thread may read it; one thread changes it.
final class Shares: Sendable {
  /// The most nodes that the owner of the log lends subjects to.
  static let mostNodes = 15

  /// Where a partition is evaluated.
  private final class Place: Sendable {
    /// The receiver's index, or -1 for this node's own workers.
    let receiver: Atomic<Int>

    init(_ receiver: Int) { self.receiver = Atomic(receiver) }
  }

  /// What stands for the other nodes: where they get what is for their subjects.
  let receivers: [Mailbox<WorkerMessage>]
  private let places: [Place]

  /// The table of an owner of the log, which evaluates for all partitions itself.
  static func ofOwner() -> Shares { Shares(receivers: mostNodes, initial: -1) }

  /// The table of another node, which was lent nothing yet: its one receiver stands for the owner.
  static func ofOther() -> Shares { Shares(receivers: 1, initial: 0) }

  private init(receivers count: Int, initial: Int) {
    receivers = (0..<count).map { _ in Mailbox() }
    places = (0..<Partition.count).map { _ in Place(initial) }
  }

  /// The index of the receiver that stands for the node where a partition is evaluated; nil if that is this node.
  subscript(partition: Partition) -> Int? {
    let receiver = places[Int(partition.index)].receiver.load(ordering: .acquiring)
    return receiver < 0 ? nil : receiver
  }

  /// How many partitions are evaluated on this node.
  var own: Int { places.count { $0.receiver.load(ordering: .relaxed) < 0 } }

  /// Notes that partitions are evaluated elsewhere from now on, or on this node if `receiver` is nil.
  func assign(_ partitions: PartitionSet, to receiver: Int?) {
    for partition in partitions.partitions {
      places[Int(partition.index)].receiver.store(receiver ?? -1, ordering: .releasing)
    }
  }
}

/// What evaluates for the owner of the log on another node, as its workers see it.
protocol OwnersEvaluation: Sendable {
  /// Sends replies to requests that the owner or clients of this node have sent; empty ones for notifications.
  func reply(_ replies: ReplyBundle, recyclingTo pool: BundlePool?)

  /// Throws unless the owner has lately confirmed that the node still evaluates for it.
  func checkRead() throws(RequestError)
}
