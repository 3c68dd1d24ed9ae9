import RuledEngine

/// The folders that must be watched to notice every change of a folder tree, as the tree stands now.
///
/// Links are followed as far as they stay in the tree, and each link on the way to something counted is watched by name in the folder that it
/// stands in, so that replacing it is noticed too. What leads in a circle is visited once. The root itself may be a link to anywhere.
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

  /// The most folders that are watched.
  static let maximumFolders = 4096
  private static let maximumDepth = 32
  private static let maximumLinks = 40

  /// What is to be watched, by path.
  private(set) var interests: [String: Interest] = [:]
  /// Whether the tree has more folders than are watched.
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

  /// Watches a folder of the tree, given by the names that lead to it from the root, and all below it.
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

  /// The folder of the tree that a link in it leads to, if any; notes the names that decide where it leads.
  private mutating func follow(_ link: String, in folder: [String]) -> [String]? {
    var folder = folder
    var rest = [link]
    var links = 0
    while let name = rest.popLast() {
      if name == ".." {
        guard folder.popLast() != nil else { return nil }
        continue
      }
      switch FolderFiles.kind(of: path(folder) + "/" + name) {
      case .link(let target):
        note(name, in: path(folder))
        links += 1
        guard links <= Self.maximumLinks else { return nil }
        guard target.hasPrefix("/") else {
          rest += Self.components(target[...])
          continue
        }
        guard let inside = rootPaths.inside(target) else { return nil }
        folder = []
        rest += Self.components(inside)
      case .folder:
        if rest.isEmpty { note(name, in: path(folder)) }
        folder.append(name)
      case .other, .missing:
        note(name, in: path(folder))
        return nil
      }
    }
    return folder
  }

  /// Walks the root's path component by component and notes the names that decide where it leads.
  private mutating func followRoot() {
    var rest = Self.components(root[...])
    var folder = root.hasPrefix("/") ? "/" : "."
    var links = 0
    while let name = rest.popLast() {
      let next = folder == "/" ? "/" + name : folder + "/" + name
      switch FolderFiles.kind(of: next) {
      case .link(let target):
        note(name, in: folder)
        links += 1
        guard links <= Self.maximumLinks else { return }
        rest += Self.components(target[...])
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

  private func path(_ folder: [String]) -> String { folder.reduce(root) { $0 + "/" + $1 } }

  /// The components of a path, last first.
  private static func components(_ path: Substring) -> [String] {
    path.split(separator: "/").filter { $0 != "." }.reversed().map(String.init)
  }
}
