import CLuaBridge
import RuledCore

/// Finds what a source text calls, in any branch, without running it.
package final class SourceInspector {
  private let worker: LuaWorker
  private let handle: OpaquePointer
  private var members: [String] = []

  /// An inspector; nil when there is no memory for its VM.
  package init?(worker: LuaWorker) {
    self.worker = worker
    var host = rb_host(call: nil, find: nil, declare: nil)
    guard let handle = rb_vm_new(worker.handle, &host, nil) else { return nil }
    self.handle = handle
  }

  deinit { rb_vm_free(handle) }

  /// The calls of globals with a constant text in a file, in their order.
  ///
  /// - Throws: a syntax error with its line, or that the text is nested too deep.
  package func uses(in file: SourceFile) throws(LoadError) -> [GlobalUse] {
    try file.check()
    let status = file.text.withView { text in
      file.path.withSlice { path in rb_check_syntax(handle, rb_slice(text), path) }
    }
    guard status != RB_OK else { return file.uses }
    let failure = rb_failure_of(handle)
    throw LoadError(file: file.path, line: Int(failure.line), failure.message.text)
  }

  /// The errors in calls of `data` and `require`, in any branch: of files that the plugin does not have, and of modules that are not among those that it
  /// `required` when it loaded.
  package func missingFiles(
    in file: SourceFile, of plugin: PluginSource, required: Set<String>
  ) throws(LoadError) -> [LoadError] {
    let isLoaded = file == plugin.entry || required.contains(file.path)
    return try uses(in: file).compactMap { use in
      switch use.name {
      case "data":
        let files = plugin.data.map(\.name)
        guard !files.contains(use.argument) else { return nil }
        let hint = NearestName.hint(use.argument, in: files)
        return LoadError(file: file.path, line: use.line, "there is no '\(use.argument)' in \(plugin.name)/\(hint)")
      case "require":
        let name = file.path.hasPrefix("lib/") ? "lib/\(use.argument)" : use.argument
        if let module = plugin.module(name) {
          guard isLoaded, use.isInFunction, !required.contains(module.path) else { return nil }
          return LoadError(
            file: file.path, line: use.line,
            "'\(use.argument)' is required in a function, too late: require it at the top of the file")
        }
        let modules = (plugin.modules + plugin.library).map { String($0.name.dropLast(4)) }
        let hint = NearestName.hint(use.argument, in: modules)
        return LoadError(
          file: file.path, line: use.line, "there is no '\(use.argument).lua' beside plugin.lua or in lib\(hint)")
      default: return nil
      }
    }
  }

  /// Whether rules have a global of that name.
  package func knows(_ name: String) -> Bool {
    name == "settings" || name.withSlice { rb_has_global(handle, $0) }
  }

  /// The members of a global table of the host, in order; empty if the global is no table.
  package func members(of global: String) -> [String] {
    members.removeAll()
    let context = Unmanaged.passUnretained(self).toOpaque()
    _ = global.withSlice { rb_each_member(handle, $0, context, takeMember) }
    return members.sorted()
  }

  fileprivate func take(member: rb_slice) { members.append(member.text) }

  /// The globals of rules that a misspelled name may mean.
  package static let globals = [
    "array", "assert", "base64", "board", "bucket", "calendar", "coroutine", "count", "counters", "data", "decide",
    "emit", "error", "event", "forget", "geo", "hash", "hex", "ip", "ipairs", "json", "log", "math", "migrate", "next",
    "now", "once", "pairs", "pcall", "peek", "pick", "plugin", "publish", "query", "raise", "rawequal", "rawget",
    "rawlen", "rawset", "require", "rule", "select", "semver", "send", "setmetatable", "setting", "settings", "sink",
    "state", "string", "table", "test", "text", "timer", "tonumber", "topic", "tostring", "type", "url", "utf8", "uuid",
    "web", "xpcall",
  ]
}

private func takeMember(context: UnsafeMutableRawPointer?, member: rb_slice) {
  guard let context else { return }
  Unmanaged<SourceInspector>.fromOpaque(context).takeUnretainedValue().take(member: member)
}
