package import RuledCore

/// One record of a set; its bytes belong to the set and are valid until that changes.
package enum WriteOperation {
  /// Puts the value under the key.
  case put(key: ByteView, value: ByteView)
  case delete(key: ByteView)
  /// Writes nothing: a record for the journal.
  case journal(head: ByteView, text: ByteView)

  /// The key; empty, as no key is, for a record that writes nothing.
  var key: ByteView {
    switch self {
    case .put(let key, _), .delete(let key): key
    case .journal: ByteView.empty
    }
  }
}
