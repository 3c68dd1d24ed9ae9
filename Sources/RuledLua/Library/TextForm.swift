import CLuaBridge

/// A form of texts without which a function of the host answers nil.
package enum TextForm {
  case version
  case address
  case block

  /// The form of a function's argument; nil if it may be any text.
  package init?(_ parameter: String, of function: String) {
    switch (function, parameter) {
    case ("semver.compare", _): self = .version
    case ("ip.within", "address"): self = .address
    case ("ip.within", _): self = .block
    default: return nil
    }
  }

  /// The form with an example, for messages.
  package var text: String {
    switch self {
    case .version: "version such as \"1.2.0\""
    case .address: "address such as \"10.1.2.3\""
    case .block: "block of addresses such as \"10.0.0.0/8\""
    }
  }

  package func accepts(_ text: String) -> Bool {
    text.withSlice { text in
      switch self {
      case .version: rb_is_version(text)
      case .address: rb_is_address(text)
      case .block: rb_is_block(text)
      }
    }
  }
}
