import RuledCore
import RuledStore

extension CommitBatch {
  /// Adds the events' changes of topics to the writes; call it once batches are in the order of their commits, before this one is appended.
  ///
  /// `dropNumbers` undoes it if the batch is not appended.
  package func numberTopics(in context: EngineContext) {
    guard !topics.isEmpty else { return }
    let (key, value) = (ByteBuffer(capacity: 320), ByteBuffer(capacity: 8))
    for change in topics {
      switch change {
      case .join(let member):
        value.removeAll()
        value.append(bigEndian: context.nextSequence())
        member.withView { writes.put($0, value.bytes) }
      case .leave(let member): member.withView { writes.delete($0) }
      case .publish(let publication):
        let number = context.nextSequence()
        StoreKey.numbered(.publication, number, into: key)
        publication.text.withView { writes.put(key.bytes, $0) }
        numbered.append((number, publication.cascade))
      }
    }
    context.publications.add(numbered)
  }

  /// The numbers of its publications, once it is appended.
  package var publicationNumbers: [UInt64] { numbered.map(\.number) }

  /// Undoes the changes of `numberTopics` outside the writes.
  package func dropNumbers(in context: EngineContext) {
    context.publications.remove(numbered)
    numbered.removeAll()
  }
}
