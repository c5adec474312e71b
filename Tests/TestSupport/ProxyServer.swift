import NIOConcurrencyHelpers

/// A proxy on loopback that knows names of its own: SOCKS5 or HTTP CONNECT. It ends with this process.
public final class ProxyServer: Sendable {
  public enum Kind: String, Codable, Sendable, CaseIterable {
    case socks5, http
  }

  /// A connection it was asked for.
  public struct Request: Decodable, Sendable, Equatable {
    /// `host:port`, as the client has written the host.
    public var asked: String
    public var user: String?

    public init(asked: String, user: String? = nil) {
      self.asked = asked
      self.user = user
    }
  }

  public let kind: Kind
  /// Where it listens, on `TestServer.host`.
  public let port: Int
  private let script: Script
  private let lastLook = NIOLockedValueBox(0)

  /// - Parameters:
  ///   - names: `host:port` to a port on loopback; of others only 127.0.0.1 is known.
  ///   - user: who may use it; nil: everybody.
  public init(_ kind: Kind, names: [String: Int] = [:], user: String? = nil, password: String? = nil)
    async throws
  {
    struct Options: Encodable {
      var kind: Kind
      var names: [String: Int]
      var user: String
      var password: String
    }
    struct Ready: Decodable { var port: Int }
    self.kind = kind
    script = try await Script(
      "proxy.py", options: Options(kind: kind, names: names, user: user ?? "", password: password ?? ""))
    port = try await script.first(Ready.self).port
  }

  /// For `--proxy`.
  public func url(user: String? = nil) -> String {
    (kind == .socks5 ? "socks5h://" : "http://") + (user.map { $0 + "@" } ?? "")
      + "\(TestServer.host):\(port)"
  }

  /// What it was asked for so far, by those who may.
  public func requests() async throws -> [Request] {
    struct Told: Decodable { var told: String }
    let number = lastLook.withLockedValue { number in
      number += 1
      return "\(number)"
    }
    script.process.write(number + "\n")
    _ = try await script.process.output.first("the proxy's answer", within: .seconds(60)) { _ in
      script.all(Told.self).first { $0.told == number }.map { _ in true }
    }
    return script.all(Request.self)
  }

  public func end() async throws { try await script.process.stop() }
}
