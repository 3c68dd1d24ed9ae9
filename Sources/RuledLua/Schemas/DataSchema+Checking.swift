import Glibc
package import RuledCore
package import RuledJSON

/// Where data is not as declared, and what is wrong there.
package struct SchemaMismatch: Error, Sendable {
  /// The place, such as `data.items[3].price`.
  package var path: String
  /// What is wrong, such as `must be an integer, not a string`.
  package let detail: String

  /// The error with which a request is refused.
  package var requestError: RequestError { .invalidParams(path: "params.\(path)", detail) }
}

extension DataSchema {
  /// Checks data; nil or null counts as an object without members.
  ///
  /// - Parameters:
  ///   - value: The data.
  ///   - path: What the data is called in the error.
  ///   - known: The only members that the data may have, apart from those of objects in it; nil for any.
  /// - Throws: The first mismatch: of a member that is missing or of another type, then of an unknown one.
  package func check(_ value: TapeValue?, at path: String, onlyKnown known: [String]?) throws(SchemaMismatch) {
    guard let value, !value.isKind(.null) else {
      if let missing = members.first(where: { !$0.isOptional }) { throw mismatch(missing: missing, in: nil, at: path) }
      return
    }
    guard value.isKind(.object) else {
      throw SchemaMismatch(path: path, detail: "must be an object, not \(value.kindText)")
    }
    for member in members {
      guard let found = value.last(member.nameBytes), !found.isKind(.null) else {
        guard member.isOptional else { throw mismatch(missing: member, in: value, at: path) }
        continue
      }
      guard !member.type.accepts(found) else { continue }
      try member.type.mismatch(found, at: "\(path).\(member.name)")
    }
    guard let known else { return }
    var all = value.members
    while let (name, _) = all.next() {
      let text = String(decoding: name, as: UTF8.self)
      guard !known.contains(text) else { continue }
      throw SchemaMismatch(path: "\(path).\(text.prefix(64))", detail: "is unknown" + NearestName.hint(text, in: known))
    }
  }

  /// The mismatch of data without a required member; it names a member that nobody declares and that may be meant for it.
  private func mismatch(missing member: Member, in data: TapeValue?, at path: String) -> SchemaMismatch {
    var others: [String] = []
    if var all = data?.members {
      while others.count < 16, let (name, _) = all.next() {
        let text = String(decoding: name, as: UTF8.self)
        if !names.contains(text) { others.append(text) }
      }
    }
    let near = NearestName.find(member.name, in: others).map { "; there is '\($0)', which is unknown" } ?? ""
    return SchemaMismatch(path: "\(path).\(member.name)", detail: "is required\(near)")
  }
}

extension DataType {
  /// Whether the value, as far as it is no container, is of the type; a container with declared content is left to `mismatch`.
  fileprivate func accepts(_ value: TapeValue) -> Bool {
    switch self {
    case .any: true
    case .string: value.isKind(.string)
    case .boolean: value.bool != nil
    case .integer: value.integer != nil
    case .number: value.double != nil
    case .object: value.isKind(.object)
    case .array(nil): value.isKind(.array)
    case .array, .members: false
    }
  }

  /// Throws the mismatch of a value that `accepts` does not take, if it has one.
  fileprivate func mismatch(_ value: TapeValue, at path: String) throws(SchemaMismatch) {
    switch self {
    case .members(let schema): try schema.check(value, at: path, onlyKnown: nil)
    case .array(let element?) where value.isKind(.array):
      for (index, item) in value.children.enumerated() where !element.accepts(item) {
        try element.mismatch(item, at: "\(path)[\(index)]")
      }
    default: throw SchemaMismatch(path: path, detail: "must be \(article) \(text), not \(value.kindText)")
    }
  }

  private var article: String {
    switch self {
    case .integer, .object, .array, .any, .members: "an"
    default: "a"
    }
  }
}

extension TapeValue {
  /// The last member of that name.
  fileprivate func last(_ name: [UInt8]) -> TapeValue? {
    var found: TapeValue?
    var all = members
    while let (other, value) = all.next() {
      let isSame =
        other.count == name.count
        && name.withView { own in
          guard let own = own.baseAddress, let other = other.baseAddress else { return true }
          return memcmp(own, other, name.count) == 0
        }
      if isSame { found = value }
    }
    return found
  }

  /// What the value is, with its article.
  fileprivate var kindText: String {
    switch kind {
    case .object: "an object"
    case .array: "an array"
    case .string: "a string"
    case .integer, .unsigned: "an integer"
    case .number: "a number"
    case .true, .false: "a boolean"
    case .null: "null"
    }
  }
}
