import RuledCore

package struct NodeIdentity: Sendable, Equatable {
  package let name: String
  /// A unique id of its process: another process of the same name has another one.
  package let incarnation: String
  /// Where its clients reach it, for people to read.
  package let address: String
  /// Where other nodes reach it; empty if it does not listen for them.
  package let listen: String

  init(name: String, incarnation: String, address: String, listen: String = "") {
    self.name = name
    self.incarnation = incarnation
    self.address = address
    self.listen = listen
  }

  package init(name: String, address: String, listen: String = "") {
    self.init(name: name, incarnation: UUIDText.random().text, address: address, listen: listen)
  }
}
