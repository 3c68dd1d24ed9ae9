internal import RuledCore
internal import RuledLua

/// Finds arguments that the host's functions refuse: of another type, unknown options, wrong zones, times of day, durations, versions and addresses, and
/// counts of days, seconds and times in each other's place.
extension ValueReview {
  private enum Unit {
    /// Seconds since the epoch.
    case moment
    /// Civil days.
    case day
    /// A constant or a setting, whose unit its author knows.
    case constant
  }

  /// Functions that take values of other types than theirs, as text.
  private static let lenient: Set<String> = ["log.debug", "log.info", "log.warn", "log.error", "emit"]
  private static let moments: Set<String> = [
    "now", "calendar.start", "calendar.at", "calendar.add", "calendar.parse", "timer.due",
  ]

  mutating func reviewArguments(_ node: SyntaxNode) {
    switch node.kind {
    case .call:
      guard let name = flow.variables.hostName(node.children[0]), let known = Signature.host[name] else { return }
      review(node.arguments, known, name)
    case .binary where ["+", "-", "<", ">", "<=", ">="].contains(node.text):
      review(span: node.children[0], beside: node.children[1])
      review(span: node.children[1], beside: node.children[0])
    default: break
    }
  }

  // MARK: Types

  private mutating func review(_ arguments: [SyntaxNode], _ known: Signature, _ function: String) {
    for (argument, (parameter, type)) in zip(arguments, zip(known.parameters, known.types)) {
      let given = flow.type(of: argument)
      if type.excludes(given), !Self.lenient.contains(function) || type == .string {
        guard !function.hasPrefix("log.") else { continue }
        add(
          argument, .wrongArguments,
          "\(function): '\(parameter)' must be \(type.text), and \(given.text) is given here")
      } else if case .record(let members) = type, let table = flow.variables.table(argument) {
        review(options: table, members, function)
      }
      if function == "timer.every", parameter == "spec" { review(schedule: argument) }
      review(text: argument, parameter)
      review(form: argument, parameter, function)
      review(elements: argument, parameter)
      review(unit: argument, parameter, function)
    }
  }

  private mutating func review(options table: SyntaxNode, _ members: [ValueType.Member], _ function: String) {
    for field in table.children where field.kind == .namedField {
      guard let name = field.children[0].stringValue else { continue }
      guard let member = members.first(where: { $0.name == name }) else {
        let known = members.map(\.name)
        add(
          field.children[0], .wrongArguments, "\(function) has no '\(name)'", unknown: name, known,
          otherwise: "it has \(known.joined(separator: ", "))")
        continue
      }
      let given = flow.type(of: field.children[1])
      if member.type.excludes(given) {
        add(
          field, .wrongArguments, "\(function): '\(name)' must be \(member.type.text), and \(given.text) is given here")
      }
      review(text: field.children[1], name)
    }
    let chosen = table.children.filter { $0.kind == .namedField && $0.children[1].kind == .true }
    if function == "forget", chosen.count > 1 { add(table, .wrongArguments, "forget takes all or past, not both") }
  }

  /// Finds wrong zones, times of day and durations.
  private mutating func review(text node: SyntaxNode, _ parameter: String) {
    guard let text = flow.variables.text(node) else { return }
    switch parameter {
    case "zone" where !ZoneFiles.areMissing && (try? zones.knows(text)) == false:
      add(node, .wrongArguments, "unknown time zone \"\(text)\"; a zone is a name such as \"Europe/Berlin\"")
    case "time":
      do throws(CalendarError) { _ = try zones.moment(0, time: text, zone: "UTC") } catch {
        add(node, .wrongArguments, error.message)
      }
    case "keep" where DurationText.parse(text) == nil:
      add(node, .wrongArguments, "keep must be a duration such as \"30d\", not \"\(text)\"")
    default: break
    }
  }

  /// Finds texts for which a function always answers nil.
  private mutating func review(form node: SyntaxNode, _ parameter: String, _ function: String) {
    guard let form = TextForm(parameter, of: function), let text = flow.variables.text(node), !form.accepts(text) else {
      return
    }
    add(node, .wrongArguments, "\(function): \"\(text)\" is no \(form.text)")
  }

  /// Finds dates that no calendar has, and weights on which nothing can fall.
  private mutating func review(elements node: SyntaxNode, _ parameter: String) {
    guard let values = flow.variables.table(node)?.children.compactMap(\.children.last) else { return }
    switch parameter {
    case "holidays":
      for date in values where date.kind == .string && Timestamp(rfc3339: "\(date.text)T00:00:00Z") == nil {
        add(date, .wrongArguments, "\(text(date)) is no date like \"2025-12-25\"")
      }
    case "weights":
      let weights = values.map(\.number)
      for (value, weight) in zip(values, weights) where weight.map({ $0 < 0 }) == true {
        add(value, .wrongArguments, "a weight is a number from 0 on")
      }
      // A table in a variable may get its weights later.
      if node.kind == .table, weights.allSatisfy({ $0 == 0 }) {
        add(node, .wrongArguments, "the weights must have a sum above 0")
      }
    default: break
    }
  }

  /// Finds errors in a schedule; members that are no literals count as right ones.
  private mutating func review(schedule argument: SyntaxNode) {
    guard let table = flow.variables.table(argument), !table.isEmptyTable else { return }
    var spec = JSONObject()
    for field in table.children {
      guard field.kind == .namedField, let name = field.children[0].stringValue else { return }
      let value = field.children[1], isNegative = value.kind == .unary && value.text == "-"
      switch (value.kind, name) {
      case (.string, _): spec[name] = .string(value.text)
      case (.true, _): spec[name] = true
      case (.number, _): spec[name] = Double(value.text).map(JSONValue.number) ?? .integer(1)
      case (_, "at"): spec[name] = "09:00"
      case (_, "zone"): spec[name] = "UTC"
      default: spec[name] = isNegative ? .integer(-1) : .integer(1)
      }
    }
    if spec["daily"] == .integer(1) { spec["daily"] = true }
    do throws(CalendarError) { _ = try Schedule(.object(spec)) } catch {
      guard !error.message.contains(" has no '") else { return }
      add(table, .wrongArguments, error.message)
    }
  }

  // MARK: Units

  private mutating func review(unit argument: SyntaxNode, _ parameter: String, _ function: String) {
    let text = "and this is"
    switch (parameter, unit(of: argument)) {
    case ("day", .moment):
      add(
        argument, .wrongArguments,
        "\(function) takes a count of days, \(text) a time in epoch seconds; calendar.day(t, zone) is the day of a time"
      )
    case ("t", .day) where function.hasPrefix("calendar."), ("when", .day):
      add(
        argument, .wrongArguments,
        "\(function) takes a time in epoch seconds, \(text) a count of days; calendar.start(day, zone) is when a day begins"
      )
    case ("when", .constant) where argument.text == "*":
      add(argument, .pastTimer, "a timer is due at epoch seconds, and this is a number of seconds; add it to now()")
    default: break
    }
  }

  /// The unit of an expression; nil where it is not known.
  private func unit(of node: SyntaxNode) -> Unit? {
    switch node.kind {
    case .number: return .constant
    case .parenthesis: return unit(of: node.children[0])
    case .name: return node.local.flatMap { flow.variables[$0] }.flatMap(unit)
    case .index:
      if node.chainRoot.globalName == "settings" { return .constant }
      return node.children[0].text == "event" && node.children[1].stringValue == "time" ? .moment : nil
    case .call:
      guard let name = flow.variables.hostName(node.children[0]) else { return nil }
      return name == "calendar.day" ? .day : Self.moments.contains(name) ? .moment : nil
    case .binary where ["+", "-", "*", "/", "//"].contains(node.text):
      guard let left = unit(of: node.children[0]), let right = unit(of: node.children[1]) else { return nil }
      if left == .constant { return node.text == "+" || right == .constant ? right : nil }
      return right == .constant && ["+", "-"].contains(node.text) ? left : nil
    default: return nil
    }
  }

  /// Finds milliseconds, days and the like that are added to, or compared with, a time in seconds.
  private mutating func review(span node: SyntaxNode, beside other: SyntaxNode) {
    guard unit(of: other) == .moment else { return }
    let name = node.kind == .index ? node.children[1].stringValue : node.kind == .name ? node.text : nil
    let suffix = name?.split(separator: "_").last.map(String.init) ?? ""
    let isMilliseconds = Self.areMilliseconds(node) || ["ms", "millis"].contains(suffix)
    guard isMilliseconds || ["minutes", "hours", "days", "weeks"].contains(suffix) else { return }
    add(node, .wrongArguments, "times are in seconds, and this is in \(isMilliseconds ? "milliseconds" : suffix)")
  }

  private static func areMilliseconds(_ node: SyntaxNode) -> Bool {
    switch node.kind {
    case .number: Double(node.text).map { $0 >= 1e11 } ?? false
    case .parenthesis: areMilliseconds(node.children[0])
    case .binary where node.text == "*":
      node.children.contains { $0.kind == .number && Double($0.text) == 1000 || areMilliseconds($0) }
    default: false
    }
  }
}

extension SyntaxNode {
  /// The number that stands there; nil for other expressions.
  fileprivate var number: Double? {
    switch kind {
    case .number: Double(text)
    case .unary where text == "-": children[0].number.map { -$0 }
    default: nil
    }
  }
}
