import NIOConcurrencyHelpers
import TestSupport
import XMPP
import XMPPSASL
import XMPPStanza
import XMPPTransport

@testable import XMPPClient

/// A client at a server on loopback, and what happens to it.
final class ClientAtServer: Sendable {
  /// What has happened, in a word each.
  private let happened = NIOLockedValueBox<[String]>([])
  private let texts = NIOLockedValueBox<[String]>([])
  let client: XMPPClient

  /// - Parameters:
  ///   - change: what is different in the configuration of the client.
  ///   - stream: what is different in that of its streams.
  init(
    _ account: String = "alice", to server: TestServer, port: Int? = nil, password: String? = nil,
    change: (inout ClientConfiguration) -> Void = { _ in },
    stream: (inout StreamConfiguration) -> Void = { _ in }
  ) throws {
    let jid = try JID(server.jid(account))
    var configuration = StreamConfiguration(
      account: jid,
      credentials: SASLCredentials(
        authcid: account, password: Secret(password ?? server.password(account))))
    configuration.host = TestServer.host
    configuration.port = port ?? server.port
    configuration.caFile = server.caFile
    stream(&configuration)
    var handlers = StanzaHandlers()
    handlers.onSession { session in
      if !session.isResumed { try await session.send([Presence().element]) }
    }
    handlers.onMessage { [texts] message, _ in
      if let body = message.body { texts.withLockedValue { $0.append(body) } }
    }
    var client = ClientConfiguration(configuration, handlers: handlers)
    client.onEvent = { [happened] event in
      if let word = Self.word(for: event) { happened.withLockedValue { $0.append(word) } }
    }
    change(&client)
    self.client = XMPPClient(client)
  }

  private static func word(for event: ClientEvent) -> String? {
    switch event {
    case .bound(let session): session.isResumed ? "resumed" : "bound"
    case .lost(_, let error, _): "lost" + (error.map { " \($0.code.rawValue)" } ?? "")
    case .failed(let error): "failed \(error.code.rawValue)"
    case .retrying(let remedy): "retrying \(remedy)"
    case .waiting: "waiting"
    case .offline(let error): "offline" + (error.map { " \($0.code.rawValue)" } ?? "")
    case .step, .other, .replaced, .handlerFailed: nil
    }
  }

  var events: [String] { happened.withLockedValue { $0 } }

  /// The texts that have come.
  var received: [String] { texts.withLockedValue { $0 } }

  /// Returns when the events are so far.
  func happens(_ isSo: @escaping @Sendable ([String]) -> Bool) async throws {
    try await eventually { isSo(self.events) }
  }
}
