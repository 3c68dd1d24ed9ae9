import Glibc
import IOTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RuledIO

@Suite struct DirectoryWatcherTests {
  private let folder = TemporaryFolder()

  /// A watcher on a loop of its own, and how often it reported.
  private final class Watched: Sendable {
    let thread: LoopThread
    private let count = Mutex(0)
    private let watcher = Confined<DirectoryWatcher>()

    init(_ root: String) throws {
      thread = try LoopThread()
      thread.call { [self] loop in
        do {
          watcher.value = try DirectoryWatcher(on: loop, root: root) { [self] in count.withLock { $0 += 1 } }
        } catch {
          Issue.record(error)
        }
      }
    }

    var isTruncated: Bool { thread.call { [self] _ in watcher.value?.isTruncated ?? true } }

    /// Whether the watcher reports after `change`.
    func reports(_ change: () -> Void) -> Bool {
      awaitQuiet()
      let before = count.withLock { $0 }
      change()
      return eventually { count.withLock { $0 > before } }
    }

    /// Whether the watcher does not report `change`: it reports a later change first.
    func ignores(_ change: () -> Void, before witness: () -> Void) -> Bool {
      awaitQuiet()
      let before = count.withLock { $0 }
      change()
      awaitQuiet()
      guard count.withLock({ $0 }) == before else { return false }
      return reports(witness)
    }

    /// Waits until all changes so far have been reported, or found to be of no interest.
    private func awaitQuiet() {
      #expect(eventually { thread.call { [self] _ in watcher.value?.isQuiet ?? true } })
    }

    func end() {
      thread.call { [self] _ in
        watcher.value?.close()
        watcher.value = nil
      }
      thread.end()
    }
  }

  private func withWatcher(_ root: String, _ body: (Watched) -> Void) throws {
    let watched = try Watched(root)
    body(watched)
    watched.end()
  }

  @Test func `writing a file and renaming one over it are reported`() throws {
    folder.makeFolder("rules")
    folder.write("rules/plugin.lua", "1")
    try withWatcher(folder("rules")) { watched in
      #expect(watched.reports { folder.write("rules/plugin.lua", "2") })
      #expect(
        watched.reports {
          folder.write("rules/.new", "3")
          folder.move("rules/.new", "rules/plugin.lua")
        })
      #expect(watched.reports { unlink(folder("rules/plugin.lua")) })
    }
  }

  @Test func `temporary files of editors and dot-files are not reported`() throws {
    folder.makeFolder("rules")
    try withWatcher(folder("rules")) { watched in
      #expect(
        watched.ignores {
          for name in [".git", "a~", ".#a", "#a#", "a.swp", "4913", "a.tmp"] { folder.write("rules/" + name, "x") }
        } before: {
          folder.write("rules/a.lua", "x")
        })
    }
  }

  @Test func `a burst is reported far less often than its changes`() throws {
    folder.makeFolder("rules")
    let thread = try LoopThread()
    let watcher = Confined<DirectoryWatcher>()
    let root = folder("rules")
    let count = Counter()
    thread.call { loop in
      watcher.value = try? DirectoryWatcher(on: loop, root: root) { count.increment() }
    }
    for index in 0..<2000 { folder.write("rules/f\(index).lua", "x") }
    #expect(eventually { count.value > 0 })
    #expect(count.value < 200)
    thread.call { _ in
      watcher.value?.close()
      watcher.value = nil
    }
    thread.end()
  }

  @Test func `folders that appear are watched to any depth`() throws {
    folder.makeFolder("rules")
    try withWatcher(folder("rules")) { watched in
      #expect(
        watched.reports {
          folder.makeFolder("rules/a")
          folder.makeFolder("rules/a/b")
          folder.makeFolder("rules/a/b/c")
        })
      #expect(watched.reports { folder.write("rules/a/b/c/deep.lua", "x") })
      #expect(watched.reports { folder.move("rules/a/b", "rules/z") })
      #expect(watched.reports { folder.write("rules/z/c/deep.lua", "y") })
    }
  }

  @Test func `a tree that is replaced, as by a checkout, is watched again`() throws {
    folder.makeFolder("rules")
    folder.makeFolder("rules/a")
    folder.write("rules/a/plugin.lua", "1")
    try withWatcher(folder("rules")) { watched in
      #expect(
        watched.reports {
          TemporaryFolder.remove(folder("rules/a"))
          folder.makeFolder("rules/a")
          folder.write("rules/a/plugin.lua", "2")
        })
      #expect(watched.reports { folder.write("rules/a/plugin.lua", "3") })
    }
  }

  @Test func `the folder itself may go and come back`() throws {
    folder.makeFolder("rules")
    try withWatcher(folder("rules")) { watched in
      #expect(watched.reports { folder.move("rules", "old") })
      #expect(
        watched.reports {
          folder.makeFolder("new")
          folder.write("new/plugin.lua", "1")
          folder.move("new", "rules")
        })
      #expect(watched.reports { folder.write("rules/plugin.lua", "2") })
      #expect(
        watched.ignores {
          folder.write("old/x.lua", "x")
        } before: {
          folder.write("rules/y.lua", "y")
        })
      #expect(watched.reports { TemporaryFolder.remove(folder("rules")) })
      #expect(watched.reports { folder.makeFolder("rules") })
    }
  }

  @Test func `a folder that does not exist yet is noticed with its parents`() throws {
    try withWatcher(folder("etc/ruled/rules")) { watched in
      #expect(watched.reports { folder.makeFolder("etc") })
      #expect(
        watched.reports {
          folder.makeFolder("etc/ruled")
          folder.makeFolder("etc/ruled/rules")
        })
      #expect(watched.reports { folder.write("etc/ruled/rules/plugin.lua", "1") })
    }
  }

  @Test func `a link to the folder may be replaced`() throws {
    folder.makeFolder("one")
    folder.makeFolder("two")
    folder.link("current", to: "one")
    try withWatcher(folder("current")) { watched in
      #expect(watched.reports { folder.write("one/plugin.lua", "1") })
      #expect(
        watched.reports {
          folder.link("next", to: "two")
          folder.move("next", "current")
        })
      #expect(watched.reports { folder.write("two/plugin.lua", "2") })
      #expect(
        watched.ignores {
          folder.write("one/plugin.lua", "3")
        } before: {
          folder.write("two/plugin.lua", "4")
        })
    }
  }

  @Test func `a link above the folder may be replaced`() throws {
    for release in ["r1", "r2"] {
      folder.makeFolder(release)
      folder.makeFolder(release + "/rules")
    }
    folder.link("current", to: folder("r1"))
    try withWatcher(folder("current/rules")) { watched in
      #expect(
        watched.reports {
          folder.link("next", to: folder("r2"))
          folder.move("next", "current")
        })
      #expect(watched.reports { folder.write("r2/rules/plugin.lua", "2") })
    }
  }

  @Test func `targets of links within the tree are watched`() throws {
    folder.makeFolder("rules")
    folder.makeFolder("rules/..one")
    folder.makeFolder("rules/..one/plugin")
    folder.makeFolder("rules/..two")
    folder.makeFolder("rules/..two/plugin")
    folder.link("rules/..data", to: "..one")
    folder.link("rules/plugin", to: "..data/plugin")
    folder.link("rules/again", to: folder("rules/..two/plugin"))
    try withWatcher(folder("rules")) { watched in
      #expect(watched.reports { folder.write("rules/..one/plugin/plugin.lua", "1") })
      #expect(watched.reports { folder.write("rules/..two/plugin/plugin.lua", "2") })
      #expect(
        watched.reports {
          folder.link("rules/..next", to: "..two")
          folder.move("rules/..next", "rules/..data")
        })
      #expect(
        watched.ignores {
          folder.write("rules/..one/plugin/plugin.lua", "3")
        } before: {
          folder.write("rules/..two/plugin/plugin.lua", "4")
        })
    }
  }

  @Test func `targets of links outside of the tree are not watched`() throws {
    folder.makeFolder("rules")
    folder.makeFolder("elsewhere")
    for number in 0..<50 { folder.makeFolder("elsewhere/f\(number)") }
    folder.link("rules/up", to: "../elsewhere")
    folder.link("rules/down", to: folder("elsewhere"))
    folder.link("rules/root", to: "/")
    let watched = WatchPlan(root: folder("rules")).interests.keys
    #expect(watched.filter { $0.hasPrefix(folder("rules")) } == [folder("rules")])
    try withWatcher(folder("rules")) { watched in
      #expect(!watched.isTruncated)
      #expect(
        watched.ignores {
          folder.write("elsewhere/x.lua", "1")
        } before: {
          unlink(folder("rules/root"))
        })
    }
  }

  @Test func `links that lead in circles end`() throws {
    folder.makeFolder("rules")
    folder.makeFolder("rules/a")
    folder.link("rules/a/up", to: "..")
    folder.link("rules/self", to: "self")
    folder.link("rules/ping", to: "pong")
    folder.link("rules/pong", to: "ping")
    folder.link("rules/gone", to: "/nowhere/at/all")
    try withWatcher(folder("rules")) { watched in
      #expect(!watched.isTruncated)
      #expect(watched.reports { folder.write("rules/a/plugin.lua", "1") })
    }
  }
}

/// A number that a loop increments and a test reads.
private final class Counter: Sendable {
  private let count = Mutex(0)
  func increment() { count.withLock { $0 += 1 } }
  var value: Int { count.withLock { $0 } }
}
