import RuledCore

/// Whether a database keeps acknowledged commits, even if its primary is lost.
struct DurabilityReview {
  /// The connection's `synchronous_commit`.
  var synchronousCommit = ""
  /// The standbys that a commit waits for: `synchronous_standby_names`.
  var standbys = ""
  /// Whether the server syncs its disk before it answers: `fsync`.
  var isSynced = true
  /// The server's address if it is a standby, which takes no commits.
  var standbyAddress: String?
  /// Whether it can repair pages that a power cut tore: `full_page_writes`.
  var hasFullPages = true
  /// The server's version, as `server_version_num` has it.
  var version: Int64 = DurabilityReview.oldestVersion

  /// PostgreSQL 13.
  private static let oldestVersion: Int64 = 130_000

  /// The problem if the server is a standby; nil if it is not.
  var standbyProblem: String? {
    standbyAddress.map {
      "the server at \($0) is a standby, which takes no commits: name all hosts in 'store', and "
        + "target_session_attrs=read-write"
    }
  }

  /// The data that the database could lose, and the remedy; nil if it loses nothing acknowledged.
  ///
  /// With `provider` the operator says that the storage beneath the database has each write in several places, and repairs pages
  /// itself; with `primary`, that the loss of the primary's disk may lose commits.
  func problem(with durability: Durability) -> String? {
    if version < Self.oldestVersion {
      return
        "the database is PostgreSQL \(version / 10_000): the nodes need \(Self.oldestVersion / 10_000) or a later one"
    }
    if !isSynced {
      return "fsync is off in the database: after a power cut acknowledged commits may be gone; turn it on"
    }
    if !hasFullPages, durability != .provider {
      return "full_page_writes is off in the database: a power cut may tear its pages; turn it on"
    }
    if synchronousCommit == "off" {
      return
        "synchronous_commit is off in the database: it acknowledges commits before they are on a disk; set it to on"
    }
    guard durability == .commit else { return nil }
    let hint =
      "or set durability = \"provider\" if the storage beneath the database replicates each write, \"primary\" if an acknowledged "
      + "commit may be lost with the primary"
    if standbys.allSatisfy(\.isWhitespace) {
      return "synchronous_standby_names is empty in the database: commits wait for no standby; name standbys, \(hint)"
    }
    guard synchronousCommit == "on" || synchronousCommit == "remote_apply" else {
      return
        "synchronous_commit is \(synchronousCommit) in the database: no standby has a commit on its disk when it is acknowledged; "
        + "set it to on, \(hint)"
    }
    return nil
  }

  /// The failures that an acknowledged commit survives.
  func promise(with durability: Durability) -> String {
    if !isSynced || !hasFullPages && durability != .provider || synchronousCommit == "off" {
      return "an acknowledged commit may be lost by a power cut of the primary"
    }
    let waits = synchronousCommit == "on" || synchronousCommit == "remote_apply"
    guard waits, !standbys.allSatisfy(\.isWhitespace) else {
      if durability == .provider {
        return
          "an acknowledged commit survives what the storage beneath the primary does: durability = \"provider\" takes the operator's "
          + "word for it"
      }
      return "an acknowledged commit is on the disk of the primary alone, and lost with it"
    }
    return "an acknowledged commit is on the disks of the primary and of the standbys that it waits for: \(standbys)"
  }

  static func read(_ connection: PostgresConnection, milliseconds: Int) throws(PostgresError) -> DurabilityReview {
    let rows = try connection.execute(
      """
      SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), current_setting('fsync')::bool, \
      current_setting('full_page_writes')::bool, \
      CASE WHEN pg_is_in_recovery() THEN coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'its Unix socket') END, \
      current_setting('server_version_num')::int8
      """, milliseconds: milliseconds)
    return DurabilityReview(
      synchronousCommit: rows.text(0, 0), standbys: rows.text(0, 1), isSynced: rows.boolean(0, 2),
      standbyAddress: rows.bytes(0, 4)?.text, hasFullPages: rows.boolean(0, 3),
      version: rows.integer(0, 5))
  }
}
