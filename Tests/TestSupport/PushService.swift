import FoundationEssentials

/// A push service that is a component of a test server: slixmpp.
public final class PushService: Sendable {
  public struct Notification: Decodable, Sendable, Equatable {
    public var from: String
    public var node: String?
    public var secret: String?
    public var xml: String
  }

  private struct Report: Decodable, Sendable { var notification: Notification? }
  private let script: Script
  public let jid: String

  /// Connects to a server with `Options.component`.
  public init(on server: TestServer) async throws {
    struct Options: Encodable {
      var jid: String
      var secret = "component-secret"
      var host = TestServer.host
      var port: Int
    }
    struct Ready: Decodable { var ready: String }
    jid = server.options.component ?? ""
    script = try await Script("push_service.py", options: Options(jid: jid, port: server.componentPort))
    _ = try await script.first(Ready.self)
  }

  /// What it was told, oldest first.
  public var notifications: [Notification] { script.all(Report.self).compactMap(\.notification) }

  /// Waits for a notification that matches and is not among the first `seen` ones.
  @discardableResult
  public func notification(
    after seen: Int = 0, where matches: @escaping @Sendable (Notification) -> Bool = { _ in true }
  ) async throws -> Notification {
    try await script.process.output.first("a notification", within: .seconds(90)) { _ in
      self.notifications.dropFirst(seen).first(where: matches)
    }
  }

  public func end() async throws { try await script.process.stop() }
}
