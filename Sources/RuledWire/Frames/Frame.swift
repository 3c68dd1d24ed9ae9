/// What a framer found in the bytes received.
package enum Frame {
  /// A line without its newline, of which `readable` bytes may be read; valid until the buffer changes.
  case line(UnsafeRawBufferPointer, readable: Int)
  /// A line over the limit, which is skipped up to its newline.
  case tooLarge
}
