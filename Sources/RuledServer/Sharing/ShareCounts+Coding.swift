import RuledCore
import RuledEngine

/// What a node has counted to bytes and back.
extension ShareCounts {
  /// Appends the counts; the plugins end with the body of the frame.
  func write(into buffer: ByteBuffer) {
    for count in [events, queries, duplicates, damaged] { buffer.append(bigEndian: count) }
    buffer.append(bigEndian: UInt32(errors.count))
    for (code, count) in errors {
      buffer.append(counted: code.rawValue)
      buffer.append(bigEndian: count)
    }
    for plugin in plugins { plugin.write(into: buffer) }
  }

  /// Reads counts up to the end of the body; nil if there are none.
  init?(reading reader: inout BytesReader) {
    guard let events = reader.word(), let queries = reader.word(), let duplicates = reader.word(),
      let damaged = reader.word(), let count = reader.word32()
    else { return nil }
    self.init(events: events, queries: queries, duplicates: duplicates, damaged: damaged)
    for _ in 0..<count {
      guard let code = reader.text().flatMap(RequestError.Code.init(rawValue:)), let count = reader.word() else {
        return nil
      }
      errors[code] = count
    }
    while !reader.isAtEnd {
      guard let plugin = PluginTally(reading: &reader) else { return nil }
      plugins.append(plugin)
    }
  }
}

/// What is wrong with what a node evaluates to bytes and back.
extension ShareHealth {
  /// Appends it.
  func write(into buffer: ByteBuffer) {
    buffer.append(bigEndian: heldSubjects)
    for texts in [problems, unreadable] {
      buffer.append(bigEndian: UInt32(texts.count))
      for text in texts { buffer.append(counted: text) }
    }
  }

  /// Reads it; nil if there is none.
  init?(reading reader: inout BytesReader) {
    guard let held = reader.word(), let problems = Self.texts(&reader), let unreadable = Self.texts(&reader) else {
      return nil
    }
    self.init(heldSubjects: held, problems: problems, unreadable: unreadable)
  }

  private static func texts(_ reader: inout BytesReader) -> [String]? {
    guard let count = reader.word32() else { return nil }
    var texts: [String] = []
    for _ in 0..<count {
      guard let text = reader.text() else { return nil }
      texts.append(text)
    }
    return texts
  }
}

extension PluginTally {
  /// Appends the tally.
  fileprivate func write(into buffer: ByteBuffer) {
    buffer.append(counted: name)
    buffer.append(bigEndian: runs)
    buffer.append(bigEndian: lastStops)
    buffer.append(isSuspended ? 1 : 0)
    buffer.append(bigEndian: UInt32(failures.count))
    for (cause, count) in failures {
      buffer.append(counted: cause.rule)
      buffer.append(counted: cause.kind.rawValue)
      buffer.append(bigEndian: count)
    }
  }

  /// Reads a tally; nil if there is none.
  fileprivate init?(reading reader: inout BytesReader) {
    guard let name = reader.text(), let runs = reader.word(), let lastStops = reader.word(),
      let isSuspended = reader.byte(),
      isSuspended < 2, let count = reader.word32()
    else { return nil }
    self.init(name: name, runs: runs, lastStops: lastStops, isSuspended: isSuspended == 1)
    for _ in 0..<count {
      guard let rule = reader.text(), let kind = reader.text().flatMap(Failure.Kind.init(rawValue:)),
        let count = reader.word()
      else { return nil }
      failures[PluginRuntime.Cause(rule: rule, kind: kind)] = count
    }
  }
}
