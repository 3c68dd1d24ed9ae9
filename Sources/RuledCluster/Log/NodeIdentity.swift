import RuledCore

package struct NodeIdentity: Sendable, Equatable {
  package let name: String
  /// A unique id of its process: another process of the same name has another one.
  package let incarnation: String
  /// The address of its clients' listener, for people to read.
  package let address: String
  /// The address of its listener for other nodes; empty if it has none.
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
