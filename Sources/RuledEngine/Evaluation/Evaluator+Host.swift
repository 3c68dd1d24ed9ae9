package import RuledCore
package import RuledLua
import RuledStore

/// What rules ask while they run.
extension Evaluator: RuleHost {
  package func isUnclaimed(once key: UnsafeRawBufferPointer, of vm: PluginVM) -> Bool {
    guard let subject, let event else { return false }
    self.key.removeAll()
    StoreKey.once(subject.name, plugin: vm.source.name, key: key, into: self.key)
    value.removeAll()
    guard holds(self.key.bytes, of: subject), value.count >= 8 else { return true }
    let expiry = Int64(bitPattern: UInt64(bigEndian: value.bytes.loadUnaligned(as: UInt64.self)))
    return expiry != 0 && expiry <= event.now
  }

  package func timerDue(_ name: UnsafeRawBufferPointer, of vm: PluginVM) -> Int64? {
    guard let subject else { return nil }
    key.removeAll()
    StoreKey.timer(subject.name, plugin: vm.source.name, name: name, into: key)
    value.removeAll()
    guard holds(key.bytes, of: subject) else { return nil }
    return due(value.bytes)
  }

  package func peek(plugin: UnsafeRawBufferPointer, into buffer: ByteBuffer) -> Bool {
    guard let subject, let record = viewed(subject), let state = record.state(of: plugin) else { return false }
    buffer.append(state)
    return true
  }

  /// Reads a value into `value`; a failure of the store is noted, for the call to fail whole.
  func holds(_ key: UnsafeRawBufferPointer, of subject: Subject) -> Bool {
    do throws(RequestError) { return try read(key, of: subject, into: value) } catch {
      storeFailure = error
      return false
    }
  }

  private func viewed(_ subject: Subject) -> SubjectRecordView? {
    do throws(RequestError) { return try view(subject) } catch {
      storeFailure = error
      return nil
    }
  }

  package func identity(into buffer: ByteBuffer) {
    guard let event else { return }
    buffer.append(event.subject)
    buffer.append(0)
    buffer.append(event.source)
    buffer.append(0)
    buffer.append(event.id)
  }

  package func subject(into buffer: ByteBuffer) {
    if let event { buffer.append(event.subject) }
  }
}
