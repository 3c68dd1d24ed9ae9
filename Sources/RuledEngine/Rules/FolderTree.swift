import Glibc
import RuledCore

/// A folder tree that is read without leaving it.
///
/// Each component of a path is resolved by itself, and links are followed only within the tree.
///
/// An open folder is read as it is, even if it is replaced meanwhile.
struct FolderTree {
  final class Folder {
    let descriptor: Int32
    /// The folder that it was found in; nil for the root.
    let parent: Folder?
    let depth: Int

    init(owning descriptor: Int32, in parent: Folder?) {
      self.descriptor = descriptor
      self.parent = parent
      depth = parent.map { $0.depth + 1 } ?? 0
    }

    deinit { close(descriptor) }
  }

  /// The target of a name, with links followed.
  enum Entry {
    case folder(Folder)
    /// A regular file, with its name and its folder.
    case file(String, Folder)
    /// Anything else, by its mode.
    case other(mode_t)
  }

  struct Name {
    let text: String
    /// Whether it may be a folder or a link; false is certain.
    let mayLead: Bool
  }

  /// How many links are followed to one entry.
  private static let mostLinks = 40
  private static let mostDepth = 32
  /// How many components are resolved to one entry.
  private static let mostSteps = 1_000

  let root: Folder
  private let rootPaths: RootPaths

  /// The tree at `path`, which may itself be a link.
  init(_ path: String) throws(RegularFile.Refusal) {
    let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw RegularFile.Refusal(number: errno) }
    root = Folder(owning: descriptor, in: nil)
    rootPaths = RootPaths(path)
  }

  /// The names in a folder, `limit` at most; nil when there are more.
  func names(in folder: Folder, limit: Int) throws(RegularFile.Refusal) -> [Name]? {
    let copy = openat(folder.descriptor, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)
    guard copy >= 0 else { throw RegularFile.Refusal(number: errno) }
    guard let stream = fdopendir(copy) else {
      close(copy)
      throw RegularFile.Refusal(number: ENOMEM)
    }
    defer { closedir(stream) }
    var names: [Name] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      guard name != ".", name != ".." else { continue }
      guard names.count < limit else { return nil }
      let type = Int32(entry.pointee.d_type)
      names.append(
        Name(text: name, mayLead: type == Int32(DT_DIR) || type == Int32(DT_LNK) || type == Int32(DT_UNKNOWN)))
    }
    return names
  }

  /// The target of a name in a folder, at the end of all links.
  ///
  /// - Throws: when links leave the tree, are dangling or circular, or when the system refuses.
  func entry(_ name: String, in folder: Folder) throws(RegularFile.Refusal) -> Entry {
    var folder = folder
    var components = [name]
    var links = 0
    var steps = 0
    var firstTarget: String?
    while let part = components.popLast() {
      steps += 1
      guard steps <= Self.mostSteps else { throw RegularFile.Refusal("is a link whose way is too long") }
      if part == "." { continue }
      if part == ".." {
        guard let parent = folder.parent else { throw Self.leaves(firstTarget ?? "..") }
        folder = parent
        continue
      }
      var status = stat()
      guard fstatat(folder.descriptor, part, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
        let number = errno
        if number == ENOENT, let firstTarget {
          throw RegularFile.Refusal("is a link to '\(firstTarget)', where there is nothing; mend it or remove it")
        }
        throw RegularFile.Refusal(number: number)
      }
      switch status.st_mode & S_IFMT {
      case S_IFLNK:
        links += 1
        guard links <= Self.mostLinks else { throw RegularFile.Refusal("is a link that leads in a circle; remove it") }
        let target = try Self.target(part, in: folder)
        firstTarget = firstTarget ?? target
        if target.hasPrefix("/") {
          guard let inside = rootPaths.inside(target) else { throw Self.leaves(firstTarget ?? target) }
          folder = root
          components += Self.components(inside)
        } else {
          components += Self.components(target[...])
        }
      case S_IFDIR: folder = try Self.open(part, in: folder)
      case S_IFREG where components.isEmpty: return .file(part, folder)
      default:
        guard components.isEmpty else { throw RegularFile.Refusal(number: ENOTDIR) }
        return .other(status.st_mode)
      }
    }
    return .folder(folder)
  }

  private static func open(_ name: String, in folder: Folder) throws(RegularFile.Refusal) -> Folder {
    guard folder.depth < mostDepth else {
      throw RegularFile.Refusal("lies more than \(mostDepth) folders deep; move it up")
    }
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let descriptor = openat(folder.descriptor, name, flags)
    guard descriptor >= 0 else { throw RegularFile.Refusal(number: errno) }
    return Folder(owning: descriptor, in: folder)
  }

  private static func leaves(_ target: String) -> RegularFile.Refusal {
    RegularFile.Refusal(
      "is a link to '\(target)', which leaves the rules folder; put a copy in its place, or remove it",
      leavesFolder: true)
  }

  private static func target(_ name: String, in folder: Folder) throws(RegularFile.Refusal) -> String {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = readlinkat(folder.descriptor, name, &bytes, bytes.count)
    guard length > 0 else { throw RegularFile.Refusal(number: errno) }
    return String(decoding: bytes[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The components of a path, last first.
  private static func components(_ path: Substring) -> [String] {
    path.split(separator: "/").reversed().map(String.init)
  }
}
