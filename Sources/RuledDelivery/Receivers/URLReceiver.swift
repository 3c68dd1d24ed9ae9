import RuledCore

/// A receiver with a URL: the address of its requests, their secret and their certificates.
package final class URLReceiver {
  let url: String
  let sink: String
  /// The secret that requests to the URL's origin carry.
  let secret: SinkSecret?
  /// The file with the client's certificate and key for that origin.
  let certificate: String?
  /// The file with the authorities that the certificate of that origin is checked against.
  let authorities: String?
  let origin: URLOrigin?

  init(_ url: String, sink: String, _ configuration: Configuration.Sink?) {
    self.url = url
    self.sink = sink
    secret = configuration?.secretFile.map { SinkSecret(path: $0) }
    certificate = configuration?.certificateFile
    authorities = configuration?.authoritiesFile
    origin = URLOrigin(url)
  }
}
