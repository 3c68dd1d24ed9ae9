import RuledCore
import RuledEngine
import RuledLua
import RuledWire

/// Rules from a client, in the form of `RulesSource.encoded`: checked like a folder's.
enum UploadedRules {
  /// The rules in a request's member `rules`, or in the upload that it names.
  static func source(_ rules: RequestRules, _ uploads: Uploads) throws(RequestError) -> RulesSource {
    let json = try uploads.rules(rules)
    guard let plugins = json["plugins"]?.arrayValue, let source = RulesSource(encoded: json) else {
      throw error("must be {library, plugins: [{name, modules, data}]}, as 'rulectl rollout start' sends it")
    }
    guard !plugins.isEmpty else { throw error("holds no plugin") }
    try checkForm(json["library"], "library")
    for plugin in plugins {
      guard let name = plugin["name"]?.stringValue, isName(name[...]), name != "lib" else {
        throw error("has a plugin without a name that a folder could have")
      }
      try checkForm(plugin["modules"], name)
      try checkForm(plugin["data"], name)
    }
    guard Set(source.plugins.map(\.name)).count == source.plugins.count else { throw error("has a plugin twice") }
    for plugin in source.plugins {
      for file in plugin.modules + plugin.data { try check(file, in: plugin.name) }
      guard plugin.entry != nil else { throw error("has no \(plugin.name)/plugin.lua") }
    }
    let library = source.plugins.first?.library ?? []
    for file in library { try check(file, in: "lib") }
    let byteCount = (source.plugins.flatMap { $0.modules + $0.data } + library).reduce(0) { $0 + $1.text.count }
    guard byteCount <= Limits.folderBytes else { throw error("holds more than \(Limits.folderBytes >> 20) MiB") }
    return InstalledLibrary.completing(source)
  }

  /// Refuses a list of files that would not be read whole.
  private static func checkForm(_ files: JSONValue?, _ name: String) throws(RequestError) {
    guard let files else { return }
    let isWhole = files.arrayValue?.allSatisfy { file in
      file["path"]?.stringValue != nil && (file["text"]?.stringValue ?? file["hex"]?.stringValue) != nil
    }
    if isWhole != true { throw error("has files of \(name) that are not {path, text}") }
  }

  private static func check(_ file: SourceFile, in folder: String) throws(RequestError) {
    let limit = file.name.hasSuffix(".lua") ? Limits.sourceFileBytes : Limits.dataFileBytes
    guard file.path.hasPrefix("\(folder)/"), isName(file.path.dropFirst(folder.count + 1)),
      file.name.hasSuffix(".lua") || file.name.hasSuffix(".json")
    else { throw error("has a file \(file.path), which is no Lua or JSON file of \(folder)") }
    guard file.text.count <= limit else { throw error("has a file \(file.path) of more than \(limit >> 10) KiB") }
  }

  private static func isName(_ name: Substring) -> Bool {
    !name.isEmpty && !name.hasPrefix(".") && !name.unicodeScalars.contains { $0 == "/" || $0.value < 0x20 }
  }

  private static func error(_ detail: String) -> RequestError { .invalidParams(path: "params.rules", detail) }
}
