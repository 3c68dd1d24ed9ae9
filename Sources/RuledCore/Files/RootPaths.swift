import Glibc

/// The absolute paths of a folder tree's root, to check whether an absolute link stays in the tree.
package struct RootPaths: Sendable {
  private let paths: [String]

  /// The paths of the folder at `path`: `path` itself, and the one without links.
  package init(_ path: String) {
    paths = [path, path.realPath].compactMap(\.self).filter { $0.hasPrefix("/") }.map { path in
      path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
  }

  /// The part of an absolute path below the root; nil when it is outside.
  package func inside(_ path: String) -> Substring? {
    for root in paths {
      if path == root { return "" }
      if path.hasPrefix(root + "/") { return path.dropFirst(root.count) }
    }
    return nil
  }
}

extension String {
  package var parentFolder: String {
    guard let slash = lastIndex(of: "/") else { return "." }
    return slash == startIndex ? "/" : String(self[..<slash])
  }

  /// The absolute path, without links, of the file at this path; nil if it can't be found, and then `errno` says why.
  package var realPath: String? {
    guard let real = realpath(self, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }
}
