internal import Glibc
package import RuledCore
internal import RuledReports
internal import RuledStore
internal import RuledThreads

/// `rulectl health`: the daemon's health.
package enum HealthCommand: Command {
  package static let spec = CommandSpec(
    "health", "Shows the daemon's health.",
    options: [.json],
    details:
      "The exit code is 0 when the daemon is ready, or a node of a cluster follows as it should, 1 when it is degraded, 2 when none answers.",
    examples: [.init("rulectl health || systemctl status ruled", "in a script")])

  /// Asks for the health and prints it.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("health", [:])
    let isReady = ["ready", "standby"].contains(result.member("status")?.stringValue)
    environment.show(result, arguments) { text($0, isReady, environment.style) }
    return isReady ? .done : .no
  }

  private static func text(_ result: JSONValue, _ isReady: Bool, _ style: Style) -> String {
    let members = result.objectValue?.members ?? []
    let width = members.map(\.name.count).max() ?? 0
    return members.reduce(into: "") { lines, member in
      let space = String(repeating: " ", count: width - member.name.count)
      lines += "\(style.dim(member.name.printable))\(space)  \(text(member.name, member.value, isReady, style))\n"
    }
  }

  private static func text(_ name: String, _ value: JSONValue, _ isReady: Bool, _ style: Style) -> String {
    switch name {
    case "status": isReady ? style.green(value.brief.printable) : style.red(value.brief.printable)
    case "uptime_s": value.doubleValue.map { Figures.duration(seconds: Int($0)) } ?? value.brief
    case "sinks": sinks(value)
    default: plain(value)
    }
  }

  /// A value without JSON's marks: an empty value is a dash, the elements of a list have commas between.
  private static func plain(_ value: JSONValue) -> String {
    if let elements = value.arrayValue {
      return elements.isEmpty ? "-" : elements.map(\.brief.printable).joined(separator: ", ")
    }
    guard let members = value.objectValue?.members else { return value.brief.printable }
    if members.isEmpty { return "-" }
    return members.map {
      "\($0.name.printable) \($0.value.arrayValue == nil ? $0.value.brief.printable : plain($0.value))"
    }
    .joined(separator: ", ")
  }

  /// The figures of each sink that are not 0, a sink on each line.
  private static func sinks(_ value: JSONValue) -> String {
    let lines = (value.objectValue?.members ?? []).map { sink in
      let figures = (sink.value.objectValue?.members ?? []).filter { $0.value.doubleValue.map { $0 != 0 } ?? false }
      let text = figures.map { "\($0.name.printable) \($0.value.brief.printable)" }.joined(separator: ", ")
      return "\n  \(sink.name.printable): \(text.isEmpty ? "-" : text)"
    }
    return lines.isEmpty ? "-" : "\(lines.count)\(lines.joined())"
  }
}

/// `rulectl clock`: shows and moves a manual clock.
package enum ClockCommand: Command {
  package static let spec = CommandSpec(
    "clock", "Shows and moves the clock of a daemon that runs with --clock manual.",
    synopsis: ["[--set RFC3339 | --advance DURATION]"],
    options: [
      OptionSpec("set", value: "RFC3339", "Sets the time, also to an earlier one."),
      OptionSpec(
        "advance", value: "DURATION", "Advances the time, by 90s, 15m, 2h or 14d; timers that become due fire."),
      .json,
    ],
    examples: [
      .init("rulectl clock --advance 14d", "by two weeks"),
      .init("rulectl clock --set 2025-11-10T08:00:00Z", "to a point in time"),
    ])

  /// Moves the clock and prints the time.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    if arguments.has("set"), arguments.has("advance") { throw UsageError("give --set or --advance, not both") }
    let set = arguments.value("set").map(JSONValue.string)
    let advance = arguments.value("advance") ?? (set == nil ? "0s" : nil)
    let result: JSONValue
    do {
      result = try environment.connect().call(
        "clock", .members(["set": set, "advance": advance.map(JSONValue.string)]))
    } catch let error as DaemonError where error.code == "unknown_method" {
      throw ToolError("the daemon uses the host's clock; start it with 'ruled --clock manual' to move its clock")
    }
    environment.show(result, arguments) { ($0.member("now")?.brief.printable ?? "?") + "\n" }
    return .done
  }
}

/// `rulectl counters`: the counters of the rules.
package enum CountersCommand: Command {
  package static let spec = CommandSpec(
    "counters", "Shows the counters of the rules.",
    synopsis: ["[PREFIX] [label=value …]"], optional: CommandSpec.any, options: [.json],
    details: "Shows the counters whose names begin with PREFIX and that have all the labels given.",
    examples: [
      .init("rulectl counters", "all counters"),
      .init("rulectl counters attribution. platform=ios", "those of one plugin with a label"),
    ])

  /// Asks for the counters and prints them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var words = arguments.operands[...]
    var prefix: String?
    if let first = words.first, KeyValue(first) == nil { prefix = words.removeFirst() }
    let result = try environment.connect().call(
      "counters", .members(["prefix": prefix.map(JSONValue.string), "labels": try KeyValue.object(words)]))
    environment.show(result, arguments) { text($0.arrayValue ?? [], environment.style) }
    return .done
  }

  private static func text(_ counters: [JSONValue], _ style: Style) -> String {
    if counters.isEmpty { return "no counters\n" }
    var table = Table(["NAME": .left, "VALUE": .right, "LABELS": .left])
    for counter in counters {
      let labels = counter.member("labels")?.objectValue?.members ?? []
      let value = counter.member("value")
      table.add([
        counter.member("name")?.brief ?? "?", value?.intValue.map { Figures.count(Int($0)) } ?? value?.brief ?? "-",
        labels.map { "\($0.name)=\($0.value.brief)" }.joined(separator: " "),
      ])
    }
    return table.text(style)
  }
}

/// `rulectl backup`: a backup of the daemon's store while it runs.
package enum BackupCommand: Command {
  package static let spec = CommandSpec(
    "backup", "Takes a backup of the daemon's store while it runs.",
    synopsis: ["DIR [--keep N]"], required: ["DIR"], completes: .folders,
    options: [OptionSpec("keep", value: "N", "Removes the earliest backups in DIR, so that N are left."), .json],
    details: """
      Each backup is a folder in DIR, named by its time; 'latest' leads to the last one. Files that did not change since
      the one before take no further space. Run it as root or as the daemon's user on the daemon's host.
      'ruled --restore DIR' makes a store of a backup.
      """,
    examples: [
      .init("rulectl backup /var/backups/ruled --keep 7", "every night, by a timer"),
      .init("rsync -aH --delete /var/backups/ruled host:", "copies the backups elsewhere"),
    ])

  /// Has the daemon make a checkpoint, and copies it.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let keep = try arguments.integer("keep", in: 1...1_000_000)
    Thread.Priority.lowest.apply()  // the daemon goes first
    do {
      let (folder, summary) = try take(to: arguments.operands[0], environment)
      let removed = try keep.map { count throws(StoreError) in try folder.keep(count) } ?? []
      report(summary, removed, asJSON: arguments.has("json"), environment)
    } catch let error as StoreError { throw ToolError(error.description) }
    return .done
  }

  private static func take(
    to path: String, _ environment: ToolEnvironment
  ) throws -> (folder: BackupFolder, summary: BackupFolder.Summary) {
    let isNew = access(path, F_OK) != 0
    let folder = try BackupFolder(path)
    do { return (folder, try fill(folder, environment)) } catch {
      if isNew { rmdir(path) }  // which fails if something is in it
      throw error
    }
  }

  private static func fill(_ folder: BackupFolder, _ environment: ToolEnvironment) throws -> BackupFolder.Summary {
    let answer = try environment.connect().call("backup", [:])
    guard let checkpoint = answer.member("checkpoint")?.stringValue,
      let time = answer.member("at")?.stringValue.flatMap({ Timestamp(rfc3339: $0) })
    else { throw ToolError("the daemon's answer names no checkpoint; use the rulectl of the same version") }
    var progress = Progress(environment)
    defer { progress.clear() }
    do {
      guard let use = try FolderUse(checkpoint, alone: false) else {
        throw ToolError("another backup uses the checkpoint \(checkpoint); try again")
      }
      defer { withExtendedLifetime(use) {} }
      let summary = try folder.add(checkpoint, at: time) { done, all in
        progress.show(share: all > 0 ? Double(done) / Double(all) : 1, count: done >> 20, "MiB", plural: "MiB")
      }
      try StoreCheckpoints.remove(checkpoint)
      return summary
    } catch let error as StoreError where error.underlying == "Permission denied" {
      throw ToolError("\(error.description); run this as root or as the daemon's user")
    }
  }

  private static func report(
    _ summary: BackupFolder.Summary, _ removed: [String], asJSON: Bool, _ environment: ToolEnvironment
  ) {
    if asJSON {
      environment.print(json: [
        "backup": .string(summary.path), "files": .integer(Int64(summary.files)),
        "bytes": .integer(Int64(summary.bytes)), "shared_bytes": .integer(Int64(summary.sharedBytes)),
        "removed": .array(removed.map { .string($0) }),
      ])
      return
    }
    environment.output.write(
      "\(summary.path): \(Figures.count(summary.files, "file")), \(Figures.bytes(summary.bytes)), of which "
        + "\(Figures.bytes(summary.bytes - summary.sharedBytes)) were copied\n")
    if !removed.isEmpty { environment.output.write("removed \(removed.joined(separator: ", "))\n") }
  }
}
