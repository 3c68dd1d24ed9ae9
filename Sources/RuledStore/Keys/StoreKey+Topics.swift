package import RuledCore

/// The keys of topics: their members, and publications on their way to these.
extension StoreKey {
  package static func membership(
    _ subject: some KeyPart, plugin: some KeyPart, name: some KeyPart, into buffer: ByteBuffer
  ) {
    ofPlugin(.membership, subject, plugin, name, into: buffer)
  }

  /// The key of a topic's member; without a subject, the prefix of all its members' keys.
  package static func member(
    plugin: some KeyPart, name: some KeyPart, _ subject: some KeyPart, into buffer: ByteBuffer
  ) {
    ofPlugin(.member, plugin, name, subject, into: buffer)
  }

  package static func memberCount(plugin: some KeyPart, name: some KeyPart, worker: UInt64, into buffer: ByteBuffer) {
    memberCounts(plugin: plugin, name: name, into: buffer)
    buffer.append(bigEndian: worker)
  }

  /// The prefix of the keys of all workers' changes of a topic's member count.
  package static func memberCounts(plugin: some KeyPart, name: some KeyPart, into buffer: ByteBuffer) {
    ofPlugin(.memberCount, plugin, name, ByteView.empty, into: buffer)
  }

  /// The key of a publication under way, or of a message behind one; they are in order of their numbers.
  package static func publication(_ number: UInt64, into buffer: ByteBuffer) {
    begin(.publication, in: buffer)
    buffer.append(bigEndian: number)
  }

  package static func publicationCursor(_ number: UInt64, into buffer: ByteBuffer) {
    begin(.publicationCursor, in: buffer)
    buffer.append(bigEndian: number)
  }
}
