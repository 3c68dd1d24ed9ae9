import CLuaBridge
import RuledCore
import RuledJSON

extension PluginVM {
  func answer(_ call: rb_call, _ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    switch call {
    case RB_CALL_ONCE, RB_CALL_TIMER_DUE, RB_CALL_COUNTERS, RB_CALL_PEEK, RB_CALL_TOPIC_JOINED, RB_CALL_TOPIC_COUNT:
      try answerFromEngine(call, arguments, &answers)
    case RB_CALL_BOARD_KEEP, RB_CALL_BOARD_TOP, RB_CALL_BOARD_AROUND, RB_CALL_BOARD_RANK, RB_CALL_BOARD_COUNT:
      try answerBoard(call, arguments, &answers)
    case RB_CALL_UUID:
      drawIdentity(into: answers.buffer, label: "uuid")
      addUUID(&answers)
    case RB_CALL_EFFECT_ID: try answerEffectID(arguments, &answers)
    case RB_CALL_DATA: throw noData(try arguments.bytes(0, "data's file"))
    case RB_CALL_TEXT_REPAIR: answers.add(try arguments.text(0, "the text"))
    case RB_CALL_SHA256: answers.add(digest(of: try arguments.bytes(0, "hash.sha256's argument")).hex)
    case RB_CALL_HMAC_SHA256:
      let key = try arguments.bytes(0, "hash.hmac_sha256's key")
      answers.add(authenticator(of: try arguments.bytes(1, "hash.hmac_sha256's text"), key: key).hex)
    case RB_CALL_BUCKET: answers.add(try bucket(arguments))
    case RB_CALL_GEO_DISTANCE: try answerDistance(arguments, &answers)
    case RB_CALL_ARGUMENT: try answerArgument(arguments, &answers)
    case RB_CALL_TEST: try answerTest(arguments, &answers)
    case RB_CALL_DURATION:
      guard let time = DurationText.parseWhole(try arguments.bytes(0, "the duration")) else { return answers.addNil() }
      answers.add(Double(time) / 1e6)
    case RB_CALL_TIMER_EVERY: try answerSchedule(arguments, &answers)
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
    case RB_CALL_TOPIC_JOINED: answers.add(host.isMember(ofTopic: try arguments.bytes(0, "a topic's name"), of: self))
    case RB_CALL_TOPIC_COUNT:
      answers.add(host.memberCount(ofTopic: try arguments.bytes(0, "a topic's name"), of: self))
    case RB_CALL_COUNTERS:
      let prefix = try arguments.optionalBytes(0, "counters' prefix") ?? ByteView.empty
      let most = try arguments.optionalCount(1, "counters' most") ?? .max
      guard host.counters(prefix: prefix, most: most, into: answers.buffer, until: { rb_vm_expired(handle) }) else {
        return answers.addNil()
      }
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
    do throws(SchemaMismatch) { try host.checkData(data, ofType: type) } catch {
      let function = try arguments.text(0, "the function")
      throw HostRefusal("\(function) of '\(type.text)': \(error.path) \(error.detail)", kind: .value)
    }
  }

  /// When a repeating timer is due first, and its schedule as it is kept.
  private func answerSchedule(_ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    let text = try arguments.bytes(0, "the schedule")
    let now = try arguments.number(1, "the time"), earliest = try arguments.number(2, "the earliest time")
    do throws(CalendarError) {
      let schedule = try Schedule((try? JSONValue(parsing: text)) ?? .null)
      let start = Int64((now * 1e6).rounded()), least = Int64((earliest * 1e6).rounded())
      answers.add(Double(try schedule.next(after: max(start, least - 1), from: start, in: zones)) / 1e6)
      answers.add(schedule.json.text)
    } catch {
      if error.isOfHost { lacksZones = true }
      throw HostRefusal(error.message, kind: .value)
    }
  }

  // MARK: Ids

  /// Appends the source of the next id: the event's identity, the plugin, and the number of ids drawn before.
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

  // MARK: Files, digests, places

  /// The longest name of a file, a time zone or a time that is looked at.
  fileprivate static let nameBytes = 256

  /// The argument of a call as a file has it, for messages.
  private func answerArgument(_ arguments: HostArguments, _ answers: inout HostAnswers) throws(HostRefusal) {
    let path = try arguments.text(0, "the path"), line = Int(try arguments.number(1, "the line"))
    let function = try arguments.text(2, "the function")
    let file = (source.modules + source.tests + source.library).first { $0.path == path }
    guard let argument = file?.argument(of: function, line: line) else { return answers.addNil() }
    answers.add(argument)
  }

  /// Why `data` has nothing under that name.
  private func noData(_ name: ByteView) -> HostRefusal {
    guard name.count <= Self.nameBytes else {
      return HostRefusal("the name of data's file is longer than \(Self.nameBytes) bytes")
    }
    let name = name.text
    let hint = NearestName.hint(name, in: source.data.map(\.name))
    return HostRefusal("there is no '\(name)' in the plugin's folder\(hint)")
  }

  /// The digest; of a part of the text if the rule's time is over meanwhile.
  private func digest(of text: ByteView, after begun: SHA256 = SHA256()) -> SHA256.Digest {
    let part = 64 << 10
    var hash = begun
    var start = 0
    while start < text.count, !rb_vm_expired(handle) {
      hash.update(text.extracting(start..<min(start + part, text.count)))
      start += part
    }
    return hash.finish()
  }

  /// The message authentication code of RFC 2104; of a part of the text if the rule's time is over meanwhile.
  private func authenticator(of text: ByteView, key: ByteView) -> SHA256.Digest {
    SHA256.authenticator(key: key.count > 64 ? digest(of: key).bytes : Array(key)) { digest(of: text, after: $0) }
  }

  /// Where a key falls between 0 and 1: the first 53 bits of the digest of the plugin, the name and the key, a zero byte between two.
  private func bucket(_ arguments: HostArguments) throws(HostRefusal) -> Double {
    let name = try arguments.bytes(0, "bucket's name"), key = try arguments.optionalBytes(1, "bucket's key")
    let buffer = ByteBuffer()
    buffer.append(contentsOf: source.name)
    buffer.append(0)
    buffer.append(name)
    buffer.append(0)
    if let key {
      buffer.append(key)
    } else {
      let start = buffer.count
      host?.subject(into: buffer)
      guard buffer.count > start else { throw HostRefusal("bucket needs a key here, as there is no subject") }
    }
    let bits = digest(of: buffer.bytes).bytes.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    return Double(bits >> 11) / 0x1p53
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
        guard !arguments.isLonger(0, than: Self.nameBytes),
          let time = ZoneDatabase.parse(try arguments.calendarText(0))
        else { return answers.addNil() }
        answers.add(time)
      case RB_CALL_CALENDAR_KNOWN:
        guard !arguments.isLonger(0, than: Self.nameBytes) else { return answers.add(false) }
        answers.add(try zones.knows(try arguments.calendarText(0, "the time zone")))
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
        if call == RB_CALL_CALENDAR_WEEK { return answers.add(try zones.week(time, zone: zone)) }
        answers.add(try zones.offset(time, zone: zone))
      }
    } catch {
      if error.isOfHost { lacksZones = true }
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
  /// Adds the offset of a zone, from when and until when it applies; the bridge caches it.
  fileprivate mutating func add(_ span: ZoneDatabase.Offset) {
    add(span.seconds)
    add(Int(span.from))
    add(Int(span.until))
  }
}

extension HostArguments {
  fileprivate func calendarText(_ index: Int, _ what: String? = nil) throws(CalendarError) -> String {
    let what = what ?? (index == 0 ? "the moment" : "the time zone")
    guard !isLonger(index, than: PluginVM.nameBytes) else {
      throw CalendarError("\(what) is longer than \(PluginVM.nameBytes) bytes")
    }
    do throws(HostRefusal) { return try text(index, what) } catch { throw CalendarError(error.message) }
  }

  fileprivate func calendarDay(_ index: Int) throws(CalendarError) -> Int {
    let day = try calendarNumber(index)
    guard abs(day) < 4_000_000, day == day.rounded() else {
      throw CalendarError("there is no calendar for day \(day); calendar.day(t, zone) is the day of a time")
    }
    return Int(day)
  }

  fileprivate func calendarNumber(_ index: Int) throws(CalendarError) -> Double {
    do throws(HostRefusal) { return try number(index, "the time") } catch { throw CalendarError(error.message) }
  }
}

extension SourceFile {
  /// Why the file is not JSON, with line and column; nil if it is.
  package var jsonError: LoadError? {
    do throws(JSONError) {
      _ = try text.withView { bytes throws(JSONError) in try JSONValue(parsing: bytes) }
      return nil
    } catch {
      let start = text.prefix(error.offset).lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
      let column = 1 + text[start..<min(error.offset, text.count)].text.count
      let why = error.reason == .syntax ? "" : ": \(error.message)"
      return LoadError(file: path, line: line(at: error.offset), "is not JSON from column \(column) on\(why)")
    }
  }

  /// The line that holds the byte at `offset`, counted from 1.
  func line(at offset: Int) -> Int { 1 + text.prefix(offset).count { $0 == UInt8(ascii: "\n") } }
}
