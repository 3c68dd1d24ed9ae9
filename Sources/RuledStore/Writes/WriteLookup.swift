/// What a set of writes says about a key.
package enum WriteLookup {
  /// No write concerns the key: the store knows.
  case absent
  /// The last write on the key removed it.
  case deleted
  /// The last write on the key put these bytes; they are valid until the set changes.
  case value(UnsafeRawBufferPointer)
}
