import Glibc

package enum Geo {
  /// The mean radius of WGS 84 in metres, (2a + b) / 3.
  static let earthRadius = 6_371_008.8

  /// The great-circle distance in metres between two places in degrees, by the haversine formula.
  ///
  /// The sphere differs from the ellipsoid by half a per cent at most. Ranges are the caller's to check.
  package static func distance(_ latitude1: Double, _ longitude1: Double, _ latitude2: Double, _ longitude2: Double)
    -> Double
  {
    let degree = Double.pi / 180
    let north = sin((latitude2 - latitude1) * degree / 2)
    let east = sin((longitude2 - longitude1) * degree / 2)
    let haversine = north * north + cos(latitude1 * degree) * cos(latitude2 * degree) * east * east
    return 2 * earthRadius * asin(min(1, haversine.squareRoot()))
  }
}
