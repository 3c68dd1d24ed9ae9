import RuledStore

/// How the owner of a log shares the load, by its own account.
package struct Loans: Sendable, Equatable {
  /// How many partitions of the subjects each other node evaluates, by the node's name.
  package var partitions: [String: Int]
  /// How many partitions have changed places since the owner owns the log.
  package var moves: Int

  /// What an owner says.
  package init(_ partitions: [String: Int], moves: Int) {
    self.partitions = partitions
    self.moves = moves
  }

  /// The names and numbers in turns, as the text of an array in SQL.
  var array: String {
    let items = partitions.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key)),\($0.value)" }
    return "{\(items.joined(separator: ","))}"
  }

  private static func quoted(_ text: String) -> String {
    "\"\(text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined())\""
  }
}

extension LogClient {
  private static let loansStatement = PostgresStatement(
    """
    SELECT o.moves, e.key, e.value::int8 FROM ruled.logs l JOIN ruled.nodes o ON o.node = l.owner AND o.incarnation = l.incarnation \
    LEFT JOIN jsonb_each_text(o.lent) e ON true WHERE l.log = 0 AND o.lease > clock_timestamp() AND o.moves IS NOT NULL
    """)

  /// Whether the tables say what the owner has lent.
  var knowsLoans: Bool { (cluster?.format ?? 0) >= ClusterSchema.firstWithLoans }

  /// What the owner of the log has lent; nil if it has not said so, or its lease is over.
  func loans() throws(StoreError) -> Loans? {
    _ = try connection()
    guard knowsLoans else { return nil }
    let rows = try execute(Self.loansStatement, [], Self.attempt)
    guard rows.count > 0 else { return nil }
    var loans = Loans([:], moves: Int(rows.integer(0, 0)))
    for row in 0..<rows.count where !rows.text(row, 1).isEmpty {
      loans.partitions[rows.text(row, 1)] = Int(rows.integer(row, 2))
    }
    return loans
  }
}
