internal import RuledCore

enum CaptureCommand: Command {
  static let spec = CommandSpec(
    "capture", "Prints a test that plays a subject's recorded events and expects the recorded decisions.",
    synopsis: ["SUBJECT [--since TIME] [--anonymize [--keep PATH]…]"], required: ["SUBJECT"],
    options: [
      OptionSpec("since", value: "TIME", "Only the events since then: RFC 3339, or how long ago, such as 2d."),
      OptionSpec("anonymize", "Replaces all texts and numbers that do not stand in the rules, the same by the same."),
      OptionSpec("keep", value: "PATH", "Keeps what is there: data.plan, state.game.points, state.", repeats: true),
    ],
    details: """
      The events come from the journal, with those of other subjects that sent it messages. The test begins with the states
      of then, the timers and the once keys, has the settings of then, expects decisions and effects, and runs in any plugin's
      tests/. It is played once before it is printed: what does not come out again is a note in the test, and if no rule runs, the
      exit code is 1. An anonymized test expects what the recorded rules say of what was replaced. Numbers of one digit and times
      about when the events happened stay.
      """,
    examples: [
      .init("rulectl capture user:7 --since 2h > rules/onboarding/tests/incident.lua", "an incident becomes a test"),
      .init("rulectl capture user:7 --anonymize --keep data.plan", "one to pass on"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let kept = arguments.values["keep"] ?? []
    guard kept.isEmpty || arguments.has("anonymize") else { throw UsageError("--keep goes with --anonymize") }
    if let path = kept.first(where: { !Anonymizer.canKeep($0) }) {
      throw UsageError("'\(path)' is no path that can stay; one begins with data or state, or is an attribute's name")
    }
    var capture = Capture(client: try environment.connect())
    var test = try capture.test(of: subject, since: arguments.value("since"))
    var about = ["captured from \(subject), revision \(capture.revision)"]
    let known = try capture.rules()
    if let (catalog, settings) = known {
      test.steps = settings + test.steps
      test.sendInternally(catalog.internalTypes)
      try test.keepOnlyWhatHolds(under: catalog)
      if arguments.has("anonymize") {
        var anonymizer = Anonymizer(test, under: catalog, keeping: kept)
        test = test.anonymized(by: &anonymizer)
        try test.expectWhatComesOut(under: catalog)
        for path in anonymizer.absent.map({ $0.joined(separator: ".") }).sorted() {
          environment.errors.write("--keep \(path.printable) keeps nothing: no event and no state has it\n")
        }
        let digest = Array(test.text(about: []).utf8).withView { hash64($0, seed: 0) }
        test.name += " \(String(digest, radix: 16))"
        about = ["captured from a subject that is not named, revision \(capture.revision)"]
      }
    } else if arguments.has("anonymize") {
      throw ToolError(
        "the rules of revision \(capture.revision) are not kept, so what they decide on other ids can't be told")
    }
    environment.output.write(test.text(about: about))
    guard known != nil, !test.runsRules else { return .done }
    environment.errors.write(
      "no rule runs when this is played: the rules of revision \(capture.revision) hear none of these events\n")
    return .no
  }
}

extension CapturedTest {
  /// Sends the events of types that only rules make as an administrator would: messages whose sender is not known.
  fileprivate mutating func sendInternally(_ types: Set<String>) {
    for index in steps.indices {
      guard case .event(var event, let decisions) = steps[index],
        let type = event["type"]?.stringValue, types.contains(type)
      else { continue }
      event["internal"] = true
      steps[index] = .event(event, decisions: decisions)
    }
  }

  func anonymized(by anonymizer: inout Anonymizer) -> CapturedTest {
    for case .event(let event, _) in steps { _ = event["subject"]?.stringValue.map { anonymizer.subject($0) } }
    let others = steps.compactMap { step -> Step? in
      switch step {
      case .at, .settings: step
      case .decided(let subject, let decisions): .decided(anonymizer.subject(subject), decisions)
      case .failing(let subject, let plugin): .failing(anonymizer.subject(subject), plugin: plugin)
      case .failures: nil
      case .retry(let subject, let plugin, let event):
        .retry(anonymizer.subject(subject), plugin: plugin, event: event.flatMap { anonymizer.known($0) })
      case .note(let note, _): .note(note, "")
      case .given(let subject, let version, let states, let items):
        .given(
          anonymizer.subject(subject), version: version, states: anonymizer.states(states),
          items: anonymizer.items(items))
      case .effects(let subject, let first, _): .effects(anonymizer.subject(subject), from: first, [])
      case .event(let event, let decisions): .event(anonymizer.event(event), decisions: decisions)
      }
    }
    return CapturedTest(name: "captured", steps: others)
  }
}
