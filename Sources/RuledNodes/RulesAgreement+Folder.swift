import Glibc
import RuledCluster
import RuledCore
import RuledEngine
import RuledJSON
import RuledLua
import RuledServing
import RuledStore
import Synchronization

/// Rules from the folder of a node that follows: the owner asks for them, and the node offers them.
extension RulesAgreement {
  func folder(of name: String, while isWaiting: () -> Bool) throws(ReloadError) -> RevisionArchive.Revision {
    let exchange = RevisionExchange(settings, identity: node.identity)
    let answer: FolderAnswer
    do throws(StoreError) { answer = try ask(name, exchange, while: isWaiting) } catch { throw Self.failure(error) }
    switch answer {
    case .failed(let error): throw error
    case .offered(let revision):
      do throws(StoreError) {
        guard let content = try exchange.content(of: revision), let found = content.withView(LiveRules.parse) else {
          throw StoreError(.refused, "node \(name) offers revision \(revision), which this version of ruled can't read")
        }
        return found
      } catch { throw Self.failure(error) }
    }
  }

  private func ask(
    _ name: String, _ exchange: RevisionExchange, while isWaiting: () -> Bool
  ) throws(StoreError) -> FolderAnswer {
    guard let request = try exchange.askForFolder(of: name) else {
      throw StoreError(
        .refused,
        "node \(name) can't be asked for its rules folder: it does not follow, or has an earlier version of ruled"
      )
    }
    let end = MonotonicClock.milliseconds + Self.timeout
    while true {
      let (text, isAlive) = try exchange.answer(to: request)
      if let text {
        guard let answer = FolderAnswer(text) else {
          throw StoreError(.refused, "node \(name) answers what this version of ruled can't read")
        }
        return answer
      }
      guard isAlive, isWaiting(), MonotonicClock.milliseconds < end else {
        try exchange.withdraw(request)
        throw StoreError(
          .refused,
          isAlive
            ? "node \(name) has not offered the rules in its folder in time: try again"
            : "node \(name) has ended meanwhile")
      }
      usleep(UInt32(Self.ownerInterval) * 1000)
    }
  }

  /// Offers the folder of `configuration` from now on, with the settings of its plugins.
  func use(_ configuration: Configuration) { self.configuration.withLock { $0 = configuration } }

  /// Answers a request for the rules in the folder of this node, if there is one.
  func answerFolderRequest(_ exchange: RevisionExchange) throws(StoreError) {
    guard let configuration = configuration.withLock({ $0 }), let request = try exchange.folderRequest() else { return }
    let answer: FolderAnswer
    do throws(ReloadError) { answer = .offered(try Self.offerFolder(of: configuration, in: exchange)) } catch {
      answer = .failed(error)
    }
    try exchange.answer(request, answer.text)
  }

  /// Offers the rules in a folder, with the settings of their plugins; returns their revision.
  private static func offerFolder(
    of configuration: Configuration, in exchange: RevisionExchange
  ) throws(ReloadError) -> String {
    let catalog = try CatalogBuilder.build(
      try RulesFolder.read(configuration.rules), configuration: configuration.plugins, previous: nil,
      worker: LuaWorker(), checksFiles: true, now: EngineClock.wall)
    do throws(StoreError) { try offer(catalog, in: exchange) } catch { throw failure(error) }
    return catalog.revision
  }
}

private enum FolderAnswer {
  /// It offers the rules under this revision.
  case offered(String)
  case failed(ReloadError)

  init?(_ text: String) {
    guard let json = try? JSONValue(parsing: text) else { return nil }
    if let revision = json["revision"]?.stringValue {
      self = .offered(revision)
    } else if let errors = json["errors"].flatMap(ReloadError.init(json:)) {
      self = .failed(errors)
    } else {
      return nil
    }
  }

  var text: String {
    switch self {
    case .offered(let revision): JSONValue.object(["revision": .string(revision)]).text
    case .failed(let error): JSONValue.object(["errors": error.json]).text
    }
  }
}
