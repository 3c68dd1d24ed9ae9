/// The members of a JSON object in the order in which they were written; each name occurs once.
package struct JSONObject: Sendable {
  package typealias Member = (name: String, value: JSONValue)

  package private(set) var members: [Member] = []
  /// The index of each name, for objects that are too long to search.
  private var index: [ExactName: Int]?

  private static let searchedUpTo = 16

  package init() {}

  /// An object of these members; of a repeated name the last one wins.
  package init(_ members: some Sequence<Member>) {
    for member in members { self[member.name] = member.value }
  }

  /// The member's value; nil is no member, and setting nil removes it.
  ///
  /// - Complexity: O(1) on average to read and to set, O(*n*) to remove.
  package subscript(name: String) -> JSONValue? {
    get { position(of: name).map { members[$0].value } }
    set {
      switch (position(of: name), newValue) {
      case (let position?, let value?): members[position].value = value
      case (let position?, nil):
        members.remove(at: position)
        index = nil
        indexIfLong()
      case (nil, let value?):
        members.append((name, value))
        if index == nil { indexIfLong() } else { index?[ExactName(text: name)] = members.count - 1 }
      case (nil, nil): break
      }
    }
  }

  private func position(of name: String) -> Int? {
    if let index { return index[ExactName(text: name)] }
    return members.firstIndex { $0.name.isIdentical(to: name) }
  }

  private mutating func indexIfLong() {
    guard members.count > Self.searchedUpTo else { return }
    var index: [ExactName: Int] = [:]
    for (position, member) in members.enumerated() { index[ExactName(text: member.name)] = position }
    self.index = index
  }

  package var names: [String] { members.map(\.name) }
}

extension JSONObject: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { members.count }
  package subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: Equatable {
  /// Whether both have the same members, in whatever order.
  package static func == (left: JSONObject, right: JSONObject) -> Bool {
    left.count == right.count && left.members.allSatisfy { right[$0.name] == $0.value }
  }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self.init(elements.map { (name: $0.0, value: $0.1) })
  }
}

extension JSONObject {
  /// These members with those of `other` in their place, key by key at every depth; a list is one value.
  package func overridden(by other: JSONObject) -> JSONObject {
    var merged = self
    for (name, value) in other {
      guard case .object(let own)? = merged[name], !own.isEmpty else {
        merged[name] = value
        continue
      }
      // Lua's empty table may be a list, too.
      let members = value.arrayValue?.isEmpty == true ? JSONObject() : value.objectValue
      merged[name] = members.map { .object(own.overridden(by: $0)) } ?? value
    }
    return merged
  }

  /// Puts a value at the end of a path of members, or removes the member there.
  package mutating func put(_ value: JSONValue?, at path: some Collection<String>) {
    guard let name = path.first else { return }
    let rest = path.dropFirst()
    guard !rest.isEmpty else { return self[name] = value }
    guard case .object(var inner)? = self[name] else { return }
    inner.put(value, at: rest)
    self[name] = .object(inner)
  }
}
