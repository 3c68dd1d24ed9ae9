import RuledCore
import RuledLua
import RuledStore

/// The answers to what rules ask while they run. A failure of the store is noted, and fails the whole transaction afterwards.
extension EventTransaction: RuleHost {
  func isUnclaimed(once key: UnsafeRawBufferPointer, of vm: PluginVM) -> Bool {
    guard let subject else { return false }
    do throws(RequestError) {
      return try !items.onceKeys.isClaimed(key, of: vm.source.name, subject: subject, now: event.now)
    } catch {
      storeFailure = error
      return true
    }
  }

  func timerDue(_ name: UnsafeRawBufferPointer, of vm: PluginVM) -> Int64? {
    guard let subject else { return nil }
    do throws(RequestError) { return try items.timers.due(name, of: vm.source.name, subject: subject) } catch {
      storeFailure = error
      return nil
    }
  }

  func peek(plugin: UnsafeRawBufferPointer, into buffer: ByteBuffer) -> Bool {
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

  func counters(prefix: UnsafeRawBufferPointer, into buffer: ByteBuffer) {
    let counters = context.counters.select(
      prefix: String(decoding: prefix, as: UTF8.self), with: answerWaits ? batches.uncommitted : [])
    buffer.append(UInt8(ascii: "["))
    for (index, counter) in counters.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      buffer.append("{\"name\":" as StaticString)
      buffer.append(jsonString: counter.key.name)
      buffer.append(",\"labels\":" as StaticString)
      buffer.append(contentsOf: counter.key.labels)
      buffer.append(",\"value\":" as StaticString)
      counter.value.json.write(to: buffer)
      buffer.append(UInt8(ascii: "}"))
    }
    buffer.append(UInt8(ascii: "]"))
  }
}
