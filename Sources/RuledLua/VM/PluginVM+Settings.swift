import CLuaBridge
package import RuledCore
import RuledJSON

extension PluginVM {
  /// Loads a plugin with its configured settings; the plugin's own replace bad ones, which `manifest.settingProblems` lists.
  ///
  /// - Throws: the reason. An error in its own settings has the line of the declaration that they break.
  package static func load(
    _ source: PluginSource, _ configured: Configuration.Plugin = .init(), worker: LuaWorker,
    covering coverage: Coverage? = nil, noting notes: LoadNotes? = nil
  ) throws(LoadError) -> PluginVM {
    let (vm, problems) = try load(source, configured.settings, worker, coverage, notes)
    vm.builder.configure(sources: configured.sources, problems: problems)
    return vm
  }

  private static func load(
    _ source: PluginSource, _ settings: JSONObject, _ worker: LuaWorker, _ coverage: Coverage?, _ notes: LoadNotes?
  ) throws(LoadError) -> (PluginVM, [ConfigurationProblem]) {
    let review: SettingsReview
    let problems: [ConfigurationProblem]
    let loading = Result { () throws(LoadError) in
      try PluginVM(source: source, settings: settings, worker: worker, covering: coverage, noting: notes)
    }
    switch loading {
    case .success(let vm):
      review = vm.review(settings)
      if let notes {
        notes.add(review.errors)
      } else if let error = review.errors.first {
        throw error
      }
      if review.overrides == settings { return (vm, review.problems) }
      problems = review.problems
    case .failure(let error):
      // A bad setting may also break a file that reads it.
      guard !settings.isEmpty, let own = try? PluginVM(source: source, worker: worker, covering: coverage)
      else { throw error }
      review = own.review(settings)
      guard review.overrides != settings else { throw error }
      // A name that is unknown beside defaults may be known once the bad setting is right.
      problems = review.problems.filter(\.isBadSetting)
    }
    // Each round drops a setting or sorts a list, so there is a last one. Only the first one lists unknown names: later ones see them beside
    // defaults. A problem beside defaults alone is a consequence of the listed ones.
    let (vm, more) = try load(source, review.overrides, worker, coverage, notes)
    let causes = more.isEmpty ? [] : vm.review(settings, runsAllChecks: true).problems
    let others = more.filter { problem in
      problem.isBadSetting && !problems.contains { $0.path == problem.path }
        && causes.contains { $0.path == problem.path }
    }
    return (vm, problems + others)
  }

  /// Compares configured settings with the plugin's declarations.
  private func review(_ configured: JSONObject, runsAllChecks: Bool = false) -> SettingsReview {
    SettingsReview(manifest, configured, zones: zones, runsAllChecks: runsAllChecks) { check, value, settings in
      let argument = JSONValue.array([value, .object(settings)]).text
      let result = argument.withSlice { rb_handle(handle, RB_DECLARE_SETTING, Int32(check), $0) }
      guard result == RB_OK else { return "its check fails: \(failure(rule: nil).message)" }
      let answer = try? JSONValue(parsing: output)
      if let isRight = answer?[0], isRight != .bool(false), !isRight.isNull { return nil }
      return answer?[1]?.stringValue ?? "its check refuses it"
    }
  }
}
