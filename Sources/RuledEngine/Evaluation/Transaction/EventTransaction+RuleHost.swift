import RuledCore
import RuledJSON
import RuledLua
import RuledStore

/// The answers to what rules ask while they run. A failure of the store is noted, and fails the whole transaction afterwards.
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

  func peek(plugin: ByteView, into buffer: ByteBuffer) -> Bool {
    guard let state = record?.state(of: plugin) else { return false }
    buffer.append(state)
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

  func counters(prefix: ByteView, into buffer: ByteBuffer) {
    let counters = context.counters.select(
      prefix: String(decoding: prefix, as: UTF8.self), with: answerWaits ? batches.uncommitted : [])
    var json = JSONWriter(buffer)
    json.beginArray()
    for counter in counters {
      json.beginObject()
      json.member("name", counter.key.name)
      json.member("labels")
      json.raw(counter.key.labels)
      json.member("value")
      json.raw(counter.value.json.write(to:))
      json.endObject()
    }
    json.endArray()
  }
}
