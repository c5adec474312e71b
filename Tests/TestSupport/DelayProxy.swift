/// A long link on loopback to a port: what goes over it arrives late, in order and at full speed.
///
/// Making a connection costs one round trip, as it does on a real link. It ends with this process.
public final class DelayProxy: Sendable {
  /// Where it listens, on `TestServer.host`.
  public let port: Int
  private let script: Script

  /// Makes the link; `oneWay` is half of a round trip.
  public init(to target: Int, oneWay: Duration) async throws {
    struct Options: Encodable {
      var port: Int
      var oneWay: Double
    }
    struct Ready: Decodable { var port: Int }
    script = try await Script("delay.py", options: Options(port: target, oneWay: oneWay / .seconds(1)))
    port = try await script.first(Ready.self).port
  }

  /// Ends the link, and the connections over it.
  public func end() async throws { try await script.process.stop() }
}
