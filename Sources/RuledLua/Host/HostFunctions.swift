import CLuaBridge
package import RuledCore
import RuledJSON

extension PluginVM {
  /// Executes a call of a rule.
  func answer(_ call: rb_call, _ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    switch call {
    case RB_CALL_ONCE, RB_CALL_TIMER_DUE, RB_CALL_COUNTERS, RB_CALL_PEEK:
      try answerFromEngine(call, arguments, &answers)
    case RB_CALL_UUID:
      drawIdentity(into: answers.buffer, label: "uuid")
      addUUID(&answers)
    case RB_CALL_EFFECT_ID: try answerEffectID(arguments, &answers)
    case RB_CALL_DATA: try answerData(arguments, &answers)
    case RB_CALL_URL_PARSE: try answerURL(arguments, &answers)
    case RB_CALL_TEXT_LOWER: answers.add(UnicodeText.lower(try arguments.text(0, "text.lower's argument")))
    case RB_CALL_TEXT_TRIM: answers.add(UnicodeText.trim(try arguments.text(0, "text.trim's argument")))
    case RB_CALL_SHA256: answers.add(SHA256.hash(try arguments.bytes(0, "hash.sha256's argument")).hex)
    case RB_CALL_GEO_DISTANCE: try answerDistance(arguments, &answers)
    case RB_CALL_TEST: try answerTest(arguments, &answers)
    case RB_CALL_CHECK_DATA: try checkData(arguments)
    case RB_CALL_COVERED: coverage?.note(Int(try arguments.number(0, "the part")))
    default: try answerCalendar(call, arguments, &answers)
    }
  }

  private func answerFromEngine(
    _ call: rb_call, _ arguments: HostArguments, _ answers: inout HostAnswers
  ) throws(HostRefusal) {
    guard let host else { throw HostRefusal("not offered here") }
    switch call {
    case RB_CALL_ONCE: answers.add(host.isUnclaimed(once: try arguments.bytes(0, "once's key"), of: self))
    case RB_CALL_TIMER_DUE:
      guard let due = host.timerDue(try arguments.bytes(0, "the timer's name"), of: self) else {
        return answers.addNil()
      }
      answers.add(Double(due) / 1e6)
    case RB_CALL_COUNTERS:
      let prefix = try arguments.optionalBytes(0, "counters' prefix") ?? ByteView.empty
      host.counters(prefix: prefix, into: answers.buffer)
      answers.addBuffer(RB_JSON)
    default:
      guard host.peek(plugin: try arguments.bytes(0, "peek's plugin"), into: answers.buffer) else {
        return answers.addNil()
      }
      answers.addBuffer(RB_JSON_FROZEN)
    }
  }

  /// Has the host check the data of an event that a rule makes: the function it calls, the event's type, and the data.
  private func checkData(_ arguments: HostArguments) throws(HostRefusal) {
    guard let host else { return }
    let type = try arguments.bytes(1, "an event's type")
    let data = try arguments.bytes(2, "an event's data")
    do throws(SchemaMismatch) { try host.check(data, ofType: type) } catch {
      let function = try arguments.text(0, "the function")
      throw HostRefusal(
        "\(function) of '\(String(decoding: type, as: UTF8.self))': \(error.path) \(error.detail)", kind: .value)
    }
  }

  // MARK: Ids

  /// Appends what the next id is derived from: the event's identity, the plugin, and the number of ids drawn before.
  private func drawIdentity(into buffer: ByteBuffer, label: StaticString) {
    host?.identity(into: buffer)
    buffer.append(0)
    buffer.append(contentsOf: source.name)
    buffer.append(0)
    buffer.append(label)
    buffer.append(decimal: Int64(drawn))
    drawn += 1
  }

  private func addUUID(_ answers: inout HostAnswers) {
    let id = UUIDText.derived(from: answers.buffer.bytes)
    answers.buffer.removeAll()
    id.write(to: answers.buffer)
    answers.addBuffer(RB_STRING)
  }

  private func answerEffectID(_ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    let sink = try arguments.text(0, "the sink")
    guard manifest.sinks.contains(sink) else {
      let known =
        manifest.sinks.isEmpty
        ? "it declares none; add sinks = { \"\(sink)\" } to its plugin { … }"
        : "it declares \(manifest.sinks.joined(separator: ", "))"
      throw HostRefusal("plugin '\(source.name)' has no sink '\(sink)'; \(known)", kind: .value)
    }
    if let key = try arguments.optionalBytes(1, "the effect's key") {
      host?.subject(into: answers.buffer)
      answers.buffer.append(0)
      answers.buffer.append(contentsOf: source.name)
      answers.buffer.append("\0key:" as StaticString)
      answers.buffer.append(key)
    } else {
      drawIdentity(into: answers.buffer, label: "effect")
    }
    addUUID(&answers)
  }

  // MARK: Files, addresses, places

  private func answerData(_ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    let name = try arguments.text(0, "data's file")
    guard let file = source.data.first(where: { $0.name == name }) else {
      let hint = NearestName.hint(name, in: source.data.map(\.name))
      throw HostRefusal("there is no '\(name)' in the plugin's folder\(hint)")
    }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue(parsing: String(decoding: file.text, as: UTF8.self))
    } catch {
      throw HostRefusal("\(file.path):\(file.line(at: error.offset)): \(error.message)")
    }
    answers.add(json: value, frozen: true)
  }

  private func answerURL(_ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    let text = try arguments.bytes(0, "url.parse's argument")
    do throws(URLTextError) {
      let url = try URLText.parse(text)
      var query = JSONObject()
      for parameter in url.query where query[parameter.name] == nil { query[parameter.name] = .string(parameter.value) }
      var object: JSONObject = [
        "scheme": .string(url.scheme), "path": .string(url.path), "query": .object(query),
      ]
      if let host = url.host { object["host"] = .string(host) }
      if let port = url.port { object["port"] = .integer(Int64(port)) }
      if let fragment = url.fragment { object["fragment"] = .string(fragment) }
      answers.add(json: .object(object))
    } catch {
      answers.addNil()
      answers.add(error.message)
    }
  }

  private func answerDistance(_ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    let latitude1 = try arguments.number(0, "the first latitude"),
      longitude1 = try arguments.number(1, "the first longitude")
    let latitude2 = try arguments.number(2, "the second latitude"),
      longitude2 = try arguments.number(3, "the second longitude")
    answers.add(Geo.distance(latitude1, longitude1, latitude2, longitude2))
  }

  // MARK: Calendar

  private func answerCalendar(
    _ call: rb_call, _ arguments: HostArguments, _ answers: inout HostAnswers
  ) throws(HostRefusal) {
    do throws(CalendarError) {
      switch call {
      case RB_CALL_CALENDAR_PARSE:
        guard let time = ZoneDatabase.parse(try arguments.calendarText(0)) else { return answers.addNil() }
        answers.add(time)
      case RB_CALL_CALENDAR_FORMAT: answers.add(try ZoneDatabase.format(try arguments.calendarNumber(0)))
      case RB_CALL_CALENDAR_START:
        let day = try arguments.calendarDay(0)
        answers.add(Double(try zones.start(day, zone: try arguments.calendarText(1))))
      case RB_CALL_CALENDAR_AT:
        let day = try arguments.calendarDay(0), time = try arguments.calendarText(1, "the time of day")
        answers.add(Double(try zones.moment(day, time: time, zone: try arguments.calendarText(2))))
      case RB_CALL_CALENDAR_ADD:
        let time = try arguments.calendarNumber(0), amount = try arguments.calendarText(1, "the amount")
        let members = (try? JSONValue(parsing: amount))?.objectValue ?? JSONObject()
        answers.add(try zones.add(time, CivilSpan(members), zone: try arguments.calendarText(2)))
      default:
        let time = try arguments.calendarNumber(0), zone = try arguments.calendarText(1)
        switch call {
        case RB_CALL_CALENDAR_MONTH: return answers.add(try zones.month(time, zone: zone))
        case RB_CALL_CALENDAR_WEEK: return answers.add(try zones.week(time, zone: zone))
        case RB_CALL_CALENDAR_DAY: answers.add(try zones.day(time, zone: zone))
        case RB_CALL_CALENDAR_DATE: answers.add(try zones.date(time, zone: zone))
        case RB_CALL_CALENDAR_HOUR: answers.add(try zones.hour(time, zone: zone))
        default: answers.add(try zones.weekday(time, zone: zone))
        }
        if call != RB_CALL_CALENDAR_DATE { try answers.add(zones.offset(time, zone: zone)) }
      }
    } catch {
      throw HostRefusal(error.message)
    }
  }

  // MARK: Tests

  private func answerTest(_ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    guard let testHost else { throw HostRefusal("not offered here") }
    let method = try arguments.text(0, "the method")
    let values = (try? JSONValue(parsing: try arguments.bytes(1, "the arguments")))?.arrayValue ?? []
    do throws(TestFailure) {
      let results = try testHost.call(method, values)
      if results.count == 1 {
        answers.add(json: results[0])
      } else if let reason = results.last {
        answers.addNil()
        answers.add(json: reason)
      }
    } catch {
      throw HostRefusal(error.message)
    }
  }
}

extension HostAnswers {
  /// Adds the offset of a zone, from when and until when it holds; the bridge caches it.
  fileprivate mutating func add(_ span: ZoneDatabase.Offset) {
    add(span.seconds)
    add(Int(span.from))
    add(Int(span.until))
  }
}

extension HostArguments {
  fileprivate func calendarText(_ index: Int, _ what: String? = nil) throws(CalendarError) -> String {
    do throws(HostRefusal) { return try text(index, what ?? (index == 0 ? "the moment" : "the time zone")) } catch {
      throw CalendarError(error.message)
    }
  }

  fileprivate func calendarDay(_ index: Int) throws(CalendarError) -> Int {
    let day = try calendarNumber(index)
    guard abs(day) < 4_000_000 else {
      throw CalendarError("there is no calendar for day \(day); calendar.day(t, zone) is the day of a time")
    }
    return Int(day)
  }

  fileprivate func calendarNumber(_ index: Int) throws(CalendarError) -> Double {
    do throws(HostRefusal) { return try number(index, "the time") } catch { throw CalendarError(error.message) }
  }
}

extension SourceFile {
  /// The line that holds the byte at `offset`, counted from 1.
  func line(at offset: Int) -> Int { 1 + text.prefix(offset).count { $0 == UInt8(ascii: "\n") } }
}

/// Answers what rules ask while they run.
///
/// No answer raises or blocks.
package protocol RuleHost: AnyObject {
  /// Whether the plugin had not claimed the `once` key for the subject before the event.
  func isUnclaimed(once key: ByteView, of vm: PluginVM) -> Bool
  /// When the plugin's timer of that name was due before the event, in microseconds; nil when there was none.
  func timerDue(_ name: ByteView, of vm: PluginVM) -> Int64?
  /// Appends the counters whose name begins with `prefix` as a JSON array.
  func counters(prefix: ByteView, into buffer: ByteBuffer)
  /// Checks the data of an event that a rule makes, as JSON, against what plugins declare about the type.
  func check(_ data: ByteView, ofType type: ByteView) throws(SchemaMismatch)
  /// Appends another plugin's state before the event as JSON; false when there is none.
  func peek(plugin: ByteView, into buffer: ByteBuffer) -> Bool
  /// Appends what identifies the event; the ids that rules make are derived from it.
  func identity(into buffer: ByteBuffer)
  /// Appends the event's subject.
  func subject(into buffer: ByteBuffer)
}

/// Executes the calls of a test.
package protocol TestHost: AnyObject {
  /// Executes `t:method(…)`; tables are JSON.
  func call(_ method: String, _ arguments: [JSONValue]) throws(TestFailure) -> [JSONValue]
}

/// Why a test's call was refused.
package struct TestFailure: Error, Sendable {
  /// The reason.
  package var message: String

  /// A refusal with its reason.
  package init(_ message: String) { self.message = message }
}
