import NIOConcurrencyHelpers

/// A network of its own: a server's address, and a client's that can be moved. Needs root; ends with this process.
public final class TestNetwork: Sendable {
  private struct Ready: Decodable {
    var namespace: String
    var host: String
    var port: Int
  }

  /// Path of the network namespace of the client.
  public let namespace: String
  /// The server's address and port, for who is in the namespace.
  public let host: String
  public let port: Int
  private let script: Script
  private let orders = NIOLockedValueBox(0)

  /// - Parameter port: a server's on loopback, which is reached at ``host`` and ``port`` from the namespace.
  public init(to port: Int) async throws {
    script = try await Script("network.py", options: ["port": port])
    let ready = try await script.first(Ready.self)
    namespace = ready.namespace
    host = ready.host
    self.port = ready.port
  }

  /// Gives the client another address, of the subnet 10.83.0.0/24, and takes the one it had away.
  public func move(to address: String) async throws { try await order(["move": address]) }

  /// Takes the client's address away.
  public func leave() async throws { try await order(["remove": "yes"]) }

  /// Gives the client an address.
  public func join(_ address: String) async throws { try await order(["add": address]) }

  private func order(_ order: [String: String]) async throws {
    struct Done: Decodable { var done: Int }
    let number = orders.withLockedValue { count in
      count += 1
      return count
    }
    try script.send(order)
    let script = script
    try await script.process.output.first("the network") { _ in
      script.all(Done.self).contains { $0.done == number } ? () : nil
    }
  }

  public func end() async throws { try await script.process.stop() }
}
