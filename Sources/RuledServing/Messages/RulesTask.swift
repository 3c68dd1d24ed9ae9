import RuledWire

/// A method that the loader's thread executes, as it concerns the rules in force.
enum RulesTask: Sendable {
  case revisions
  case revision(String)
  /// Put an earlier revision in force, the one before if none is named, and pin it.
  case rollback(String?)
  case unpin
  /// Put the rules of another node's folder in force.
  case folder(of: String)
  case rolloutStart(RolloutStartParams)
  /// Change the share, in percent.
  case rolloutSet(Double)
  case rolloutStatus
  case rolloutPromote
  case rolloutAbort
  case shadowStart(ShadowStartParams)
  case shadowStatus
  case shadowStop
}
