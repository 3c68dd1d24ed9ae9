/// A descriptor with one owner, closed when the owner lets go of it.
package struct OwnedDescriptor: ~Copyable {
  /// The number; valid as long as the owner lives.
  package let number: Int32

  /// Takes over an open descriptor.
  package init(owning number: Int32) { self.number = number }

  deinit { SystemCalls.close(number) }

  /// Gives the descriptor away without closing it.
  package consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }
}
