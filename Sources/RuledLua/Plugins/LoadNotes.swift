/// The errors in a plugin's declarations, collected while it is loaded to its end.
package final class LoadNotes {
  package struct Note: Sendable {
    /// The error and its position.
    package var error: LoadError
    /// The member of the declaration that is wrong, if it is one.
    package let key: String?
  }

  /// The errors, in the order found.
  package private(set) var notes: [Note] = []
  /// The declarations and the required modules, even if the loading ended early.
  package internal(set) var manifest = PluginManifest()
  private var located = 0

  package init() {}

  /// Adds an error in the current declaration; `locate` then adds its position.
  func note(key: String?, _ message: String) {
    notes.append(Note(error: LoadError(file: "", line: 0, message), key: key))
  }

  func add(_ errors: [LoadError]) {
    notes += errors.map { Note(error: $0, key: nil) }
    located = notes.count
  }

  /// Sets the position of the errors that were added since the last call.
  func locate(file: String, line: Int) {
    while located < notes.count {
      notes[located].error.file = file
      notes[located].error.line = line
      located += 1
    }
  }
}
