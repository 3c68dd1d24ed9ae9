package enum Version {
  /// The output of `--version`; `packaging/debian/changelog` begins with the same.
  package static let current = "0.1.0"
  /// The day of this version, as manual pages show it.
  package static let date = "November 22, 2026"
}
