import Glibc
package import RuledCore
package import RuledJSON

/// The members of an object: an event's data or a query's arguments, as a plugin declares them.
///
/// A plugin writes a table of members, such as `{ code = "string", amount = "integer?: in cents", items = { "string" } }`.
package struct DataSchema: Sendable {
  package struct Member: Sendable {
    package let name: String
    package let type: DataType
    /// Whether it may be missing or null.
    package let isOptional: Bool
    /// Its meaning, the text after a colon; may be empty.
    package let about: String
    let nameBytes: [UInt8]
  }

  /// The members, in order of their names.
  package let members: [Member]

  /// The schema that a plugin wrote as a table; `what` names it in messages.
  ///
  /// - Throws: A sentence on what is wrong, which names the member.
  init(_ table: JSONValue?, of what: String) throws(SchemaError) {
    guard let table else { throw SchemaError("\(what) takes a table of members and their types") }
    if table.arrayValue?.isEmpty == true {
      members = []
      return
    }
    guard let object = table.objectValue else {
      throw SchemaError("\(what) takes a table of named members, such as { code = \"string\", amount = \"integer?\" }")
    }
    var members: [Member] = []
    for (name, value) in object { members.append(try Member(name, value, of: what)) }
    self.members = members.sorted { $0.name < $1.name }
  }

  package var names: [String] { members.map(\.name) }
}

/// Why a schema is refused, in a sentence for the author of the plugin.
struct SchemaError: Error, Sendable {
  let message: String

  init(_ message: String) { self.message = message }
}

extension DataSchema.Member {
  fileprivate init(_ name: String, _ value: JSONValue, of what: String) throws(SchemaError) {
    let path = "\(what).\(name)"
    guard let text = value.stringValue else {
      isOptional = name.hasSuffix("?")
      self.name = isOptional ? String(name.dropLast()) : name
      nameBytes = Array(self.name.utf8)
      about = ""
      type = try DataType(table: value, at: path)
      return
    }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let written = parts[0].trimmed
    isOptional = written.hasSuffix("?")
    let typeName = isOptional ? written.dropLast() : written
    type = try DataType(named: typeName, at: path)
    self.name = name
    nameBytes = Array(name.utf8)
    about = parts.count > 1 ? String(parts[1].trimmed) : ""
  }

  /// The type as a plugin writes it: `?` says that the member may be missing.
  package var typeText: String { type.text + (isOptional ? "?" : "") }

  /// The member as a plugin writes it, with its meaning or without.
  func json(_ isMeant: Bool) -> (name: String, value: JSONValue) {
    switch type {
    case .array(.some), .members: (name + (isOptional ? "?" : ""), type.json(isMeant))
    default: (name, .string(typeText + (isMeant && !about.isEmpty ? ": \(about)" : "")))
    }
  }
}

extension DataSchema {
  package var json: JSONValue { json(true) }

  /// With the meanings of members or without.
  func json(_ isMeant: Bool) -> JSONValue { .object(JSONObject(members.map { $0.json(isMeant) })) }
}

extension DataSchema {
  /// Checks data; nil or null counts as an object without members.
  ///
  /// - Parameters:
  ///   - value: The data.
  ///   - path: The name of the data in the error.
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
      let text = name.text
      guard !known.contains(text) else { continue }
      throw SchemaMismatch(path: "\(path).\(text.prefix(64))", detail: "is unknown" + NearestName.hint(text, in: known))
    }
  }

  /// The mismatch of data without a required member; it names a member that nobody declares and that may be meant for it.
  private func mismatch(missing member: Member, in data: TapeValue?, at path: String) -> SchemaMismatch {
    var others: [String] = []
    if var all = data?.members {
      while others.count < 16, let (name, _) = all.next() {
        let text = name.text
        if !names.contains(text) { others.append(text) }
      }
    }
    let near = NearestName.find(member.name, in: others).map { "; there is '\($0)', which is unknown" } ?? ""
    return SchemaMismatch(path: "\(path).\(member.name)", detail: "is required\(near)")
  }
}

extension TapeValue {
  /// The last member of that name.
  func last(_ name: [UInt8]) -> TapeValue? {
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

  /// The kind of the value, with its article.
  var kindText: String {
    switch kind {
    case .object: "an object"
    case .array: "an array"
    case .string: "a string"
    case .integer: "an integer"
    case .unsigned: "a whole number beyond 64 bits"
    case .number: "a number"
    case .true, .false: "a boolean"
    case .null: "null"
    }
  }
}

/// A place where data is not as declared, and the problem.
package struct SchemaMismatch: Error, Sendable {
  /// The place, such as `data.items[3].price`.
  var path: String
  /// The problem, such as `must be an integer, not a string`.
  let detail: String

  package var requestError: RequestError { .invalidParams(path: "params.\(path)", detail) }
}
