import RuledCore
import RuledJSON
import RuledLua
import RuledStore

/// Answers rules while they run; a failure of the store is noted, and fails the whole transaction afterwards.
extension EventTransaction: RuleHost {
  func isUnclaimed(once key: ByteView, of vm: PluginVM) -> Bool {
    guard let subject else { return false }
    do throws(RequestError) {
      return try !items.onceKeys.isClaimed(key, of: vm.source.name, subject: subject, now: event.now)
    } catch {
      storeFailure = error
      return true
    }
  }

  func timerDue(_ name: ByteView, of vm: PluginVM) -> Int64? {
    guard let subject else { return nil }
    do throws(RequestError) { return try items.timers.due(name, of: vm.source.name, subject: subject) } catch {
      storeFailure = error
      return nil
    }
  }

  func isMember(ofTopic name: ByteView, of vm: PluginVM) -> Bool {
    guard let subject else { return false }
    do throws(RequestError) { return try items.topics.isMember(subject, of: name, of: vm.source.name) } catch {
      storeFailure = error
      return false
    }
  }

  func memberCount(ofTopic name: ByteView, of vm: PluginVM) -> Int {
    do throws(RequestError) { return try items.topics.count(name, of: vm.source.name) } catch {
      storeFailure = error
      return 0
    }
  }

  func peek(plugin: ByteView, into buffer: ByteBuffer) -> Bool {
    guard let state = record?.state(of: plugin) else { return false }
    migration.show(state, of: plugin, subject: event.subject, now: event.now, to: buffer)
    return true
  }

  func identity(into buffer: ByteBuffer) {
    buffer.append(event.subject)
    buffer.append(0)
    buffer.append(event.source)
    buffer.append(0)
    buffer.append(event.id)
  }

  func subject(into buffer: ByteBuffer) { buffer.append(event.subject) }

  func counters(prefix: ByteView, most: Int, into buffer: ByteBuffer, until isOver: () -> Bool) -> Bool {
    let counters = context.counters.select(
      prefix: prefix.text, most: most, now: event.now, with: batches.uncommitted, until: isOver)
    guard let counters else { return false }
    var json = JSONWriter(buffer)
    json.beginArray()
    for counter in counters {
      if isOver() { break }
      json.beginObject()
      json.member("name", counter.key.name)
      json.member("labels")
      json.raw(counter.key.labels)
      json.member("value")
      json.raw(counter.value.json.write(to:))
      json.endObject()
    }
    json.endArray()
    return true
  }

  func places(
    _ selection: BoardSelection, onBoard name: ByteView, of vm: PluginVM, into buffer: ByteBuffer,
    until isOver: () -> Bool
  ) {
    context.boards.write(selection, of: name, of: vm.source.name, at: event.now, into: buffer, until: isOver)
  }

  func rank(of subject: ByteView, onBoard name: ByteView, of vm: PluginVM) -> Int? {
    context.boards.rank(of: subject, on: name, of: vm.source.name, at: event.now)
  }

  func placeCount(onBoard name: ByteView, of vm: PluginVM) -> Int {
    context.boards.count(name, of: vm.source.name, at: event.now)
  }
}

/// Checks data of events against the declarations that plugins make about their types.
///
/// Each event is checked once, at its origin: a client's when it arrives, a rule's when it is raised, sent or put into a timer. Rules that come later
/// do not check events in the store again.
extension EventTransaction {
  func checkData(_ data: ByteView, ofType type: ByteView) throws(SchemaMismatch) {
    guard let schemas = plugins.withListeners(to: type, { $0.schemas }),
      let value = try? checkedData.parse(copyOf: data)
    else { return }
    try schemas.check(value, source: event.source)
  }

  /// Checks the type and the data of the event if a client sent it.
  ///
  /// - Throws: `forbidden` if only rules make such events, `invalid_params`, which names the member.
  func checkArrived(_ listeners: Listeners) throws(RequestError) {
    guard listeners.isInternal || listeners.schemas != nil, event.origin == .client else { return }
    try Self.checkType(of: event, listeners)
    do throws(SchemaMismatch) { try listeners.schemas?.check(event.data, source: event.source) } catch {
      throw error.requestError
    }
  }

  /// Checks that a client may send events of the type.
  static func checkType(of event: EventInput, _ listeners: Listeners) throws(RequestError) {
    guard event.isInternal || !listeners.isInternal else {
      throw RequestError(
        .forbidden,
        "only rules make events of the type '\(event.type.text)'; "
          + "an administrator may send one with internal: true",
        details: ["detail": "made by rules only"])
    }
  }
}
