internal import RuledCore

/// The folders that must be watched to notice every change of a folder tree as it is now.
///
/// Links are followed while they stay in the tree. Each link on the way to a watched folder is itself watched by name in its folder, so that
/// replacing the link is noticed, too. Circles of links are followed once. The root itself may be a link to anywhere.
struct WatchPlan: Equatable {
  /// The watched entries of one folder.
  struct Interest: Equatable {
    /// Whether every entry is watched, but for ignored ones.
    var isWhole = false
    /// Names that are watched, even if they would be ignored.
    var names: Set<String> = []

    /// Adds the watched entries of the same folder under another path.
    mutating func formUnion(_ other: Interest) {
      isWhole = isWhole || other.isWhole
      names.formUnion(other.names)
    }
  }

  static let maximumFolders = 4096
  private static let maximumDepth = 32
  private static let maximumLinks = 40

  /// The watched entries by the folder's path.
  private(set) var interests: [String: Interest] = [:]
  /// Whether the tree has more folders than `maximumFolders`, or nests too deep.
  private(set) var isTruncated = false
  private let root: String
  private let rootPaths: RootPaths
  private var visited: Set<FolderFiles.Identity> = []

  /// The plan for the tree at `root`, which need not exist.
  init(root: String) {
    self.root = root
    rootPaths = RootPaths(root)
    followRoot()
    visit([])
  }

  static func == (left: WatchPlan, right: WatchPlan) -> Bool {
    left.interests == right.interests && left.visited == right.visited && left.isTruncated == right.isTruncated
  }

  /// Adds a folder of the tree, given by the names from the root to it, and all below it.
  private mutating func visit(_ folder: [String]) {
    let path = path(folder)
    guard let identity = FolderFiles.folderIdentity(of: path), visited.insert(identity).inserted else { return }
    guard visited.count <= Self.maximumFolders, folder.count <= Self.maximumDepth else {
      isTruncated = true
      return
    }
    interests[path, default: Interest()].isWhole = true
    var branches: [String] = []
    FolderFiles.forEachBranch(of: path) { branches.append($0) }
    for name in branches {
      switch FolderFiles.kind(of: path + "/" + name) {
      case .folder: visit(folder + [name])
      case .link: if let target = follow(name, in: folder) { visit(target) }
      case .other, .missing: break
      }
    }
  }

  /// The folder of the tree that a link leads to, if any.
  ///
  /// Adds the names that decide where the link leads.
  private mutating func follow(_ link: String, in folder: [String]) -> [String]? {
    var folder = folder
    var remaining = [link]
    var links = 0
    while let name = remaining.popLast() {
      if name == ".." {
        guard folder.popLast() != nil else { return nil }
        continue
      }
      switch FolderFiles.kind(of: path(folder) + "/" + name) {
      case .link(let target):
        watch(name, in: path(folder))
        links += 1
        guard links <= Self.maximumLinks else { return nil }
        guard target.hasPrefix("/") else {
          remaining += Self.components(target[...])
          continue
        }
        guard let inside = rootPaths.inside(target) else { return nil }
        folder = []
        remaining += Self.components(inside)
      case .folder:
        if remaining.isEmpty { watch(name, in: path(folder)) }
        folder.append(name)
      case .other, .missing:
        watch(name, in: path(folder))
        return nil
      }
    }
    return folder
  }

  /// Follows the root's path component by component, and adds the names that decide where it leads.
  private mutating func followRoot() {
    var remaining = Self.components(root[...])
    var folder = root.hasPrefix("/") ? "/" : "."
    var links = 0
    while let name = remaining.popLast() {
      let next = folder == "/" ? "/" + name : folder + "/" + name
      switch FolderFiles.kind(of: next) {
      case .link(let target):
        watch(name, in: folder)
        links += 1
        guard links <= Self.maximumLinks else { return }
        remaining += Self.components(target[...])
        if target.hasPrefix("/") { folder = "/" }
      case .folder:
        if remaining.isEmpty { watch(name, in: folder) }
        folder = next
      case .other, .missing: return watch(name, in: folder)
      }
    }
  }

  private mutating func watch(_ name: String, in folder: String) {
    interests[folder, default: Interest()].names.insert(name)
  }

  private func path(_ folder: [String]) -> String { folder.reduce(root) { $0 + "/" + $1 } }

  /// The components of a path, last first.
  private static func components(_ path: Substring) -> [String] {
    path.split(separator: "/").filter { $0 != "." }.reversed().map(String.init)
  }
}
