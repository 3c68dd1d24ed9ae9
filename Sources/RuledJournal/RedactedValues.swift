package import RuledCore
package import RuledJSON

/// The redacted values of one event, which are replaced in the rules' results too.
///
/// A long text is replaced anywhere in a string, whatever the case of its letters; a shorter one where it stands as a word. A number is
/// replaced where it stands as a number, and its digits as a text. Still shorter values occur by chance, and stay.
package struct RedactedValues {
  private struct Text {
    /// The text as it is within quotes, in lower case.
    let bytes: [UInt8]
    let digest: [UInt8]
    /// Whether it is replaced only where it stands as a word.
    let isWord: Bool
  }

  private var texts: [Text] = []
  private var numbers: [Double: [UInt8]] = [:]
  private var all: [JSONValue] = []

  /// A text of this many bytes is replaced within others too.
  private static let long = 6
  /// The shortest text to replace, in bytes, and the shortest number, in digits.
  private static let shortest = (text: 3, number: 4)

  /// The member of a stored message or timer with the redacted values of the event that sent it.
  static let member = "redact"

  var isEmpty: Bool { all.isEmpty }

  /// The replacement of a value.
  static func digest(of value: JSONValue) -> String {
    "sha256:" + String(SHA256.hash(value.text).hex.prefix(32))
  }

  /// Adds a value and all values within it.
  mutating func add(_ value: JSONValue) {
    all.append(value)
    addTexts(of: value)
  }

  private mutating func addTexts(of value: JSONValue) {
    switch value {
    case .string(let string):
      add(Array(value.text.utf8.dropFirst().dropLast()), Self.shortest.text, value)
      if let number = Double(string), string.utf8.count >= Self.shortest.number { numbers[number] = Self.quoted(value) }
    case .integer, .number:
      let text = Array(value.text.utf8)
      add(text, Self.shortest.number, value)
      if text.count >= Self.shortest.number { numbers[Double(value.text) ?? .nan] = Self.quoted(value) }
    case .array(let elements): for element in elements { addTexts(of: element) }
    case .object(let object): for member in object { addTexts(of: member.value) }
    case .null, .bool: break
    }
  }

  private mutating func add(_ text: [UInt8], _ shortest: Int, _ value: JSONValue) {
    guard text.count >= shortest else { return }
    texts.append(
      Text(bytes: text.map(Self.lowercase), digest: Array(Self.digest(of: value).utf8), isWord: text.count < Self.long))
  }

  private static func quoted(_ value: JSONValue) -> [UInt8] { Array(JSONValue.string(digest(of: value)).text.utf8) }

  /// Puts longer texts before texts within them; call it after the last `add`.
  mutating func sort() { texts.sort { $0.bytes.count > $1.bytes.count } }

  // MARK: The rules' results

  /// Adds the values to a new message, or to a timer of that name, if its data or its name has some of them.
  package func note(with data: ByteView, name: ByteView = .empty, to json: inout JSONWriter) {
    let replaced = replaced(in: data, from: 1)
    defer { withExtendedLifetime(replaced) {} }
    guard !ByteOrder.equal(replaced.bytes, data) || self.replaced(inName: name) != nil else { return }
    json.member(named: Self.member)
    json.raw(JSONValue.array(all).write(to:))
  }

  /// Adds the values of a stored timer to the next one of its schedule.
  package static func copy(of stored: ByteView, to json: inout JSONWriter) {
    let values = stored.rawMember("redact")
    guard !values.isEmpty else { return }
    json.member(named: member)
    json.raw(values)
  }

  /// The data of an event with the values replaced; adds to `paths` the members that have some.
  func replaced(in data: JSONValue, _ paths: inout [String]) -> JSONValue {
    let text = ByteBuffer(capacity: 256)
    data.write(to: text)
    let replaced = replaced(in: text.bytes, from: 1)
    defer { withExtendedLifetime((text, replaced)) {} }
    guard let after = try? JSONValue(parsing: replaced.bytes) else { return data }
    for (old, new) in zip(data.objectValue ?? [:], after.objectValue ?? [:])
    where old.value != new.value && !paths.contains(new.name) {
      paths.append(new.name)
    }
    return after
  }

  /// The name of a timer with the values replaced; nil if it has none of them.
  func replaced(inName name: ByteView) -> ByteBuffer? {
    let (quoted, buffer) = (ByteBuffer(capacity: 64), ByteBuffer(capacity: 64))
    quoted.append(jsonString: name)
    let replaced = replaced(in: quoted.bytes, from: 1)
    defer { withExtendedLifetime((quoted, replaced)) {} }
    guard !ByteOrder.equal(replaced.bytes, quoted.bytes) else { return nil }
    buffer.append(contentsOf: (try? JSONValue(parsing: replaced.bytes))?.stringValue ?? "")
    return buffer
  }

  /// JSON with the values replaced: the members of an object or the elements of an array.
  ///
  /// Names and texts that give it its form stay: the names of the outermost members, and their members that `fixed` lists. With a `depth` of 1
  /// it is a part of other JSON, and all names are replaced too.
  func replaced(in json: ByteView, except fixed: Set<String> = [], from depth: Int = 0) -> ByteBuffer {
    let buffer = ByteBuffer(capacity: json.count + 64)
    var depth = depth
    var member: ByteView = json.extracting(..<0)
    var index = 0
    while index < json.count {
      let byte = json[index]
      switch byte {
      case UInt8(ascii: "\""):
        let end = Self.end(ofString: index, in: json)
        let string = json.extracting(index..<end)
        let isName = end < json.count && json[end] == UInt8(ascii: ":")
        if depth == 1, isName { member = string }
        if depth > 1 || depth == 1 && !isName && !Self.isAmong(fixed, member) {
          write(string, to: buffer)
        } else {
          buffer.append(string)
        }
        index = end
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        let end = json[index...].firstIndex { [UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]")].contains($0) }
        let token = json.extracting(index..<(end ?? json.count))
        if !numbers.isEmpty, depth > 1 || depth == 1 && !Self.isAmong(fixed, member),
          let number = Double(token.text), let digest = numbers[number]
        {
          digest.withView { buffer.append($0) }
        } else {
          buffer.append(token)
        }
        index += token.count
      default:
        if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") { depth += 1 }
        if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") { depth -= 1 }
        buffer.append(byte)
        index += 1
      }
    }
    return buffer
  }

  private static func isAmong(_ names: Set<String>, _ quoted: ByteView) -> Bool {
    !names.isEmpty && names.contains(quoted.dropFirst().dropLast().text)
  }

  private static func end(ofString start: Int, in json: ByteView) -> Int {
    var index = start + 1
    while index < json.count, json[index] != UInt8(ascii: "\"") {
      index += json[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return min(index + 1, json.count)
  }

  /// Appends a string, which has its quotes.
  private func write(_ string: ByteView, to buffer: ByteBuffer) {
    var index = 0
    var followsWord = false
    while index < string.count {
      if let text = texts.first(where: { isAt($0, index, in: string, followsWord: followsWord) }) {
        text.digest.withView { buffer.append($0) }
        index += text.bytes.count
        followsWord = true
      } else if string[index] == UInt8(ascii: "\\"), index + 1 < string.count {
        buffer.append(string.extracting(index..<index + 2))
        index += 2
        followsWord = false
      } else {
        followsWord = Self.isWord(string[index])
        buffer.append(string[index])
        index += 1
      }
    }
  }

  private func isAt(_ text: Text, _ index: Int, in string: ByteView, followsWord: Bool) -> Bool {
    let end = index + text.bytes.count
    guard end < string.count, Self.lowercase(string[index]) == text.bytes[0] else { return false }
    if text.isWord, followsWord || Self.isWord(string[end]) { return false }
    return zip(string[index..<end], text.bytes).allSatisfy { Self.lowercase($0) == $1 }
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  /// Whether a byte belongs to a word: a letter, a digit, or a part of a character beyond ASCII.
  private static func isWord(_ byte: UInt8) -> Bool {
    byte >= 0x80 || (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
  }
}
