internal import Glibc
internal import RuledCore
internal import RuledReports
internal import RuledStore

enum BackupCommand: Command {
  static let spec = CommandSpec(
    "backup", "Takes a backup of the daemon's store while it runs.",
    synopsis: ["DIR [--keep N]"], required: ["DIR"], completes: .folders,
    options: [OptionSpec("keep", value: "N", "Removes the earliest backups in DIR, so that N are left."), .json],
    details: """
      Each backup is a folder in DIR, named by its time; 'latest' leads to the last one. Files that did not change since
      the one before take no further space. Run it as root or as the daemon's user on the daemon's host.
      'ruled --restore DIR' makes a store of a backup. --keep reads the new backup before it removes others. If some of
      it, or of the daemon's store, can't be read, it removes none, and the exit code is 2.
      """,
    examples: [
      .init("rulectl backup /var/backups/ruled --keep 7", "every night, by a timer"),
      .init("rsync -aH --delete /var/backups/ruled host:", "copies the backups elsewhere"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let keep = try arguments.integer("keep", in: 1...1_000_000)
    let (folder, summary) = try take(to: arguments.operands[0], environment)
    if keep != nil { try checkReadable(summary, environment) }
    let removed = try keep.map(folder.keep) ?? []
    let report: JSONValue = [
      "backup": .string(summary.path), "files": .integer(Int64(summary.files)),
      "bytes": .integer(Int64(summary.bytes)), "shared_bytes": .integer(Int64(summary.sharedBytes)),
      "removed": .array(removed.map { .string($0) }),
    ]
    return environment.show(report, arguments) { _ in
      "\(summary.path): \(Figures.count(summary.files, "file")), \(Figures.bytes(summary.bytes)), of which "
        + "\(Figures.bytes(summary.bytes - summary.sharedBytes)) were copied\n"
        + (removed.isEmpty ? "" : "removed \(removed.joined(separator: ", "))\n")
    }
  }

  /// Throws if the backup can't be read, or the daemon knows entries of its store that can't: then an earlier backup may be the last one that has them.
  private static func checkReadable(_ summary: BackupFolder.Summary, _ environment: ToolEnvironment) throws {
    if let problem = StoreReview.problem(of: summary.path, readsAll: true) {
      throw ToolError("\(summary.path) was written, but can't be read, so no earlier backup was removed: \(problem)")
    }
    guard !(try environment.connect().call("health", [:])).elements("unreadable").isEmpty else { return }
    throw ToolError(
      "\(summary.path) was written, but entries of the store can't be read, as 'rulectl health' says: no earlier backup was removed, as it may be "
        + "the last one that has them"
    )
  }

  private static func take(
    to path: String, _ environment: ToolEnvironment
  ) throws -> (folder: BackupFolder, summary: BackupFolder.Summary) {
    let client = try environment.connect()
    let isNew = access(path, F_OK) != 0
    let folder = try BackupFolder(path)
    do { return (folder, try fill(folder, client, environment)) } catch {
      if isNew { rmdir(path) }  // which fails if something is in it
      throw error
    }
  }

  private static func fill(
    _ folder: BackupFolder, _ client: Client, _ environment: ToolEnvironment
  ) throws -> BackupFolder.Summary {
    var progress = Progress(environment)
    defer { progress.clear() }
    return try Checkpoint.use(client) { path, time in
      try folder.add(path, at: time) { done, all in
        progress.show(share: all > 0 ? Double(done) / Double(all) : 1, count: done >> 20, "MiB", plural: "MiB")
      }
    }
  }
}
