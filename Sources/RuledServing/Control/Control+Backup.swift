import RuledCore
import RuledEngine
import RuledIO
import RuledStore
import RuledThreads

/// Backups, and the effects that a restore holds back.
extension Control {
  /// Makes a checkpoint of the store, from which a client takes a backup, and replies with its folder.
  ///
  /// It has a thread of its own, since it waits for the disk, and one that runs after commits and rules; these go on meanwhile.
  func backup(for caller: ControlCaller) {
    let services = services
    guard !services.isMakingCheckpoint.exchange(true, ordering: .acquiringAndReleasing) else {
      return reply(.failure(Self.isBusy), to: caller)
    }
    do throws(SystemError) {
      _ = try Thread.start(name: "ruled-backup", priority: .lowest) {
        let result = Self.makeCheckpoint(services)
        services.isMakingCheckpoint.store(false, ordering: .releasing)
        services.reply(result, to: caller)
      }
    } catch {
      services.isMakingCheckpoint.store(false, ordering: .releasing)
      reply(.failure(RequestError(.unavailable, "the backup can't begin: \(error)")), to: caller)
    }
  }

  func release(for caller: ControlCaller) {
    do throws(StoreError) {
      reply(.success(.object(["released": .bool(try releaseEffects())])), to: caller)
    } catch { reply(.failure(RequestError(.unavailable, "\(error)")), to: caller) }
  }

  /// Ends the hold of effects; true if there was one.
  private func releaseEffects() throws(StoreError) -> Bool {
    guard services.areEffectsHeld else { return false }
    try EffectsHold.release(in: services.context.store)
    services.effectsAreHeld.store(false, ordering: .releasing)
    services.outbox.mailbox.send(.scanStore)
    services.log.info("the effects that were held back since the restore are delivered from now on")
    return true
  }

  private static let isBusy = RequestError(.unavailable, "another backup is being taken; wait for it")

  private static func makeCheckpoint(_ services: Services) -> Result<JSONValue, RequestError> {
    guard let path = services.context.configuration.storeFolder else {
      return .failure(RequestError(.unavailable, "a store in memory has no backups; run with a store on disk"))
    }
    let started = EngineClock.monotonic
    let time = EngineClock.wall
    do throws(StoreError) {
      let checkpoints = StoreCheckpoints(of: path)
      guard try checkpoints.removeAbandoned() else { return .failure(isBusy) }
      let folder = try checkpoints.make(of: services.context.store, at: time, with: [RevisionArchive.folder])
      return .success(
        .object([
          "checkpoint": .string(folder), "at": .string(time.rfc3339),
          "took_ms": .integer(Int64((EngineClock.monotonic - started) / 1_000_000)),
        ]))
    } catch { return .failure(RequestError(.unavailable, "\(error)")) }
  }
}
