import RuledStore

extension LogClient {
  /// Appends the batches that `body` gives to a log without any, in one transaction: all of them or none.
  ///
  /// Throws `refused` if the log has a batch or an owner. After an error that says that the outcome is unknown the log may have all of them.
  func fillEmptyLog(
    for node: NodeIdentity, _ body: (_ append: (LogBatch) throws(StoreError) -> Void) throws(StoreError) -> Void
  ) throws(StoreError) {
    // To close the connection rolls the transaction back.
    defer { disconnect() }
    try run("BEGIN")
    let head = try readHead()
    guard head.position == .start, head.owner == nil, let owned = try takeOver(for: node, from: head) else {
      throw StoreError(
        .refused,
        "the log of the cluster is not empty: it can be filled before its first node has owned it; to begin again, end the nodes, drop the "
          + "schema 'ruled' of the database, and remove the nodes' stores")
    }
    var end = owned.end
    try body { (batch) throws(StoreError) in
      let next = end.following(batch.bytes, epoch: owned.epoch)
      let isAppended = try append(
        batch.bytes, from: Ownership(epoch: owned.epoch, end: end), to: next, milliseconds: settings.commitTimeout)
      precondition(isAppended, "the transaction holds the row of the log")
      end = next
    }
    do throws(StoreError) { try run("COMMIT") } catch {
      var unknown = error
      unknown.isOutcomeUnknown = true
      throw unknown
    }
  }
}
