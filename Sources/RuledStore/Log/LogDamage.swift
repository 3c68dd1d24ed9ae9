/// Damage of the log: durable bytes or files that are missing or changed.
struct LogDamage {
  let file: String
  let offset: Int
  /// The damage and the loss, in words.
  let what: String

  /// The error that stops a start, with a way on.
  var error: StoreError {
    StoreError(
      .corrupt,
      "\(file) is damaged at byte \(offset): \(what). Nothing was changed. Restore a backup, or run ruled --salvage with the same "
        + "--store: it keeps a copy, saves what is whole and lists the subjects concerned")
  }
}
