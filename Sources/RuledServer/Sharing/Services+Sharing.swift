extension Services {
  /// Takes over a socket that carries the share connection of another node, which is refused: this node lends nothing.
  func adoptShare(_ descriptor: Int32) { SystemCalls.close(descriptor) }
}
