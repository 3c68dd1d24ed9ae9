/// The folders that must be watched to notice every change of a folder tree, as the tree stands now.
///
/// Links are followed, and each link on the way to something counted is watched by name in the folder that it stands in, so that
/// replacing it is noticed too. What leads in a circle is visited once.
struct WatchPlan: Equatable {
  /// What is of interest in one folder.
  struct Interest: Equatable {
    /// Whether everything that counts in the folder is of interest.
    var isWhole = false
    /// Single names that are of interest, even ones that would be ignored.
    var names: Set<String> = []

    /// Adds what is of interest in the same folder under another path.
    mutating func formUnion(_ other: Interest) {
      isWhole = isWhole || other.isWhole
      names.formUnion(other.names)
    }
  }

  /// The most folders that are watched; a link to a whole file system must not stop the daemon.
  static let maximumFolders = 4096
  private static let maximumLinks = 40

  /// What is to be watched, by path.
  private(set) var interests: [String: Interest] = [:]
  /// Whether the tree has more folders than are watched.
  private(set) var isTruncated = false
  private var visited: Set<FolderFiles.Identity> = []

  /// The plan for the tree at `root`, which need not exist.
  init(root: String) {
    follow(root)
    visit(root)
  }

  private mutating func visit(_ folder: String) {
    guard let identity = FolderFiles.folderIdentity(of: folder), visited.insert(identity).inserted else { return }
    guard visited.count <= Self.maximumFolders else {
      isTruncated = true
      return
    }
    interests[folder, default: Interest()].isWhole = true
    var branches: [String] = []
    FolderFiles.forEachBranch(of: folder) { branches.append($0) }
    for name in branches {
      let path = folder + "/" + name
      switch FolderFiles.kind(of: path) {
      case .folder: visit(path)
      case .link:
        follow(path)
        visit(path)
      case .other, .missing: break
      }
    }
  }

  /// Walks a path component by component and notes the names that decide where it leads.
  private mutating func follow(_ path: String) {
    var rest = Self.components(path)
    var folder = path.hasPrefix("/") ? "/" : "."
    var links = 0
    while let name = rest.popLast() {
      let next = folder == "/" ? "/" + name : folder + "/" + name
      switch FolderFiles.kind(of: next) {
      case .link(let target):
        note(name, in: folder)
        links += 1
        guard links <= Self.maximumLinks else { return }
        rest += Self.components(target)
        if target.hasPrefix("/") { folder = "/" }
      case .folder:
        if rest.isEmpty { note(name, in: folder) }
        folder = next
      case .other, .missing:
        return note(name, in: folder)
      }
    }
  }

  private mutating func note(_ name: String, in folder: String) {
    interests[folder, default: Interest()].names.insert(name)
  }

  /// The components of a path, last first.
  private static func components(_ path: String) -> [String] {
    path.split(separator: "/").filter { $0 != "." }.reversed().map(String.init)
  }
}
