import RuledCore
import RuledEngine
import RuledLua
import RuledReplay
import RuledReports
import RuledStore
import RuledWire

/// A backtest that a client asked the daemon for: it runs on a thread of its own at low priority; one at a time.
///
/// It ends early when its client disconnects.
struct BacktestService: Sendable {
  let params: BacktestParams
  let services: Services
  let journal: JournalService
  let caller: ControlCaller
  private let clientEnd = ClientEnd(false)

  private var isAwaited: Bool { services.isConnected(caller, clientEnd) }

  /// Plays the journal with the rules in force and with the candidate's.
  func run(baseline revision: String) -> Result<JSONValue, RequestError> {
    Result { () throws(RequestError) in try report(revision) }
  }

  private func report(_ revision: String) throws(RequestError) -> JSONValue {
    let conditions = try conditions
    let (baseline, configuration) = try liveRules(revision)
    let uploaded = try UploadedRules.source(params.rules, services.uploads)
    let candidate = baseline.taking(params.plugins, from: uploaded)
    let load = Sides.loading(
      baseline, candidate, warmsUp: true, configuration: configuration, now: services.context.clock.now
    ) { .invalidParams(path: "params.rules", "does not load: \($0)") }
    let rules = try load(LuaWorker())
    let backtest = try self.backtest()
    // On one thread: the daemon has other work for the processors.
    let found = try backtest.play(load, threads: 1) { _ in isAwaited }
    guard found.isWhole else { throw RequestError(.unavailable, "the client has gone") }
    let result = found.comparison
    let report = result.json(
      baseline: rules.baseline.revision, candidate: rules.candidate.revision, gaps: backtest.gaps, folder: "DIR",
      conditions: conditions)
    guard params.html, case .object(var members) = report else { return report }
    let examples = try ExampleSearch.examples(of: result, in: backtest, load) { _ in isAwaited }
    members["html"] = .string(BacktestPage(report, result, examples).text)
    return .object(members)
  }

  private var conditions: [FailCondition] {
    get throws(RequestError) {
      var conditions: [FailCondition] = []
      for text in params.failOn {
        do throws(UsageError) { conditions.append(try FailCondition(text)) } catch {
          throw .invalidParams(path: "params.fail_on", "has '\(text)'; write \(FailCondition.grammar)")
        }
      }
      return conditions
    }
  }

  private func liveRules(
    _ revision: String
  ) throws(RequestError) -> (rules: RulesSource, configuration: [String: Configuration.Plugin]) {
    do throws(StoreError) {
      let found = try services.revisions.load(revision)
      return (found.rules, found.configuration)
    } catch { throw RequestError(.unavailable, "the rules in force can't be read: \(error)") }
  }

  private func backtest() throws(RequestError) -> JournalBacktest {
    guard let subjects = SubjectSelection(prefix: params.subjects, sample: params.sample) else {
      throw .invalidParams(path: "params.sample", "must be a share of more than 0 % and at most 100 %, such as \"10%\"")
    }
    let now = services.context.clock.now
    let backtest: JournalBacktest
    do throws(StoreError) {
      backtest = try JournalBacktest(
        journal.source, since: params.since?.timestamp(now: now), until: params.until?.timestamp(now: now),
        configuration: services.context.configuration, temporary: journal.journal.folder,
        contains: { subjects.contains($0) }, shouldContinue: { _ in isAwaited })
    } catch { throw RequestError(.unavailable, "the journal can't be read: \(error)") }
    if let problem = backtest.problem { throw RequestError(.unavailable, problem) }
    return backtest
  }
}

extension Control {
  /// Backtests rules on the journal, on a thread of its own, and replies with the report.
  func backtest(_ params: BacktestParams, for caller: ControlCaller) {
    guard let journal = services.journal else { return reply(.failure(Self.isOff), to: caller) }
    let service = BacktestService(params: params, services: services, journal: journal, caller: caller)
    let revision = services.status.catalog?.revision ?? ""
    services.backtests.run({ service.run(baseline: revision) }, then: { [services] in services.reply($0, to: caller) })
  }
}
