/// What is wrong with a plugin's declarations, gathered while it loads on, and which modules it required.
package final class LoadNotes {
  /// A wrong declaration.
  package struct Note: Sendable {
    /// What is wrong and where.
    package var error: LoadError
    /// The member of the declaration that is to blame, when it is one.
    package let key: String?
  }

  /// What is wrong, in the order found.
  package private(set) var notes: [Note] = []
  /// The paths of the modules that were required.
  package internal(set) var required: Set<String> = []
  /// What was declared so far, also when the loading ends early.
  package internal(set) var manifest = PluginManifest()
  private var placed = 0

  /// Nothing found yet.
  package init() {}

  /// Notes what is wrong with the declaration at hand, whose place follows.
  func note(key: String?, _ message: String) {
    notes.append(Note(error: LoadError(file: "", line: 0, message), key: key))
  }

  /// Gives what was noted since the last call its place.
  func place(file: String, line: Int) {
    while placed < notes.count {
      notes[placed].error.file = file
      notes[placed].error.line = line
      placed += 1
    }
  }
}
