import RuledWire

/// A method that the loader's thread executes, as it concerns the rules in force.
enum RulesTask: Sendable {
  case revisions
  /// Show the sources of a revision.
  case revision(String)
  /// Put an earlier revision in force, the one before if none is named, and pin it.
  case rollback(String?)
  /// Read the folder again.
  case unpin
  /// Put the rules of another node's folder in force.
  case folder(of: String)
  /// Try rules on a share of the subjects.
  case rolloutStart(RolloutStartParams)
  /// Change the share, in percent.
  case rolloutSet(Double)
  case rolloutStatus
  /// Put the candidate in force for all.
  case rolloutPromote
  /// Give all subjects back to the live rules.
  case rolloutAbort
  /// Let rules see live events beside the live rules.
  case shadowStart(ShadowStartParams)
  /// Show the differences from the live rules' results.
  case shadowStatus
  case shadowStop
}
