/// How often the owner of some bytes has changed or freed them: debug builds count, so that a view can tell; in release builds this is nothing.
public struct ByteChanges {
  #if DEBUG
    /// Outlives the owner.
    @usableFromInline
    final class Counter {
      @usableFromInline var count = 0

      @usableFromInline
      init() {}
    }

    @usableFromInline let counter = Counter()
    @usableFromInline var count: Int { counter.count }
  #endif

  @inlinable public init() {}

  @inlinable
  @inline(__always)
  public func endViews() {
    #if DEBUG
      counter.count += 1
    #endif
  }

  /// Calls `body` with a view of `memory` that ends with the call.
  @inlinable
  @inline(__always)
  static func lend<Result, Thrown>(
    _ memory: UnsafeRawBufferPointer, _ body: (ByteView) throws(Thrown) -> Result
  ) throws(Thrown) -> Result {
    guard let start = memory.baseAddress else { return try body(.empty) }
    let changes = ByteChanges()
    defer { changes.endViews() }
    return try body(ByteView(start: start, count: memory.count, until: changes))
  }
}
