import XMPP
import XMPPStanza
import XMPPXML

/// The handlers of a client's stanzas, by kind, and by the name and namespace of their payload.
///
/// A handler for a payload takes precedence over a handler for all stanzas of the kind. A later registration replaces
/// an earlier one for the same stanzas.
public struct StanzaHandlers: Sendable {
  public typealias MessageHandler = @Sendable (Message, BoundSession) async throws -> Void
  public typealias PresenceHandler = @Sendable (Presence, BoundSession) async throws -> Void
  /// Returns the payload of the result, or throws a ``StanzaError`` as the answer. Any other error is answered with
  /// `internal-server-error`.
  public typealias RequestHandler = @Sendable (IQ, BoundSession) async throws -> [XMLElement]
  public typealias SessionHandler = @Sendable (BoundSession) async throws -> Void

  private var messages: [XMLName?: MessageHandler] = [:]
  private var presence: [XMLName?: PresenceHandler] = [:]
  private var requests: [XMLName: RequestHandler] = [:]
  private var session: SessionHandler?

  public init() {}

  /// Registers the handler of each bound session, called before its stanzas are handled. In a new session it sends
  /// presence.
  public mutating func onSession(_ handler: @escaping SessionHandler) { session = handler }

  /// - Parameter payload: a child element of the messages; nil for every message without a handler of its own.
  public mutating func onMessage(with payload: XMLName? = nil, _ handler: @escaping MessageHandler) {
    messages[payload] = handler
  }

  /// - Parameter payload: a child element of the presence; nil for every presence without a handler of its own.
  public mutating func onPresence(with payload: XMLName? = nil, _ handler: @escaping PresenceHandler) {
    presence[payload] = handler
  }

  /// Registers the handler of requests with this payload, of the types get and set (RFC 6120 §8.2.3).
  public mutating func onRequest(_ payload: XMLName, _ handler: @escaping RequestHandler) {
    requests[payload] = handler
  }

  /// The payload names of the requests that have a handler.
  var requestNames: Set<XMLName> { Set(requests.keys) }

  /// Whether there is a handler for messages, even if only for some of them.
  var takesMessages: Bool { !messages.isEmpty }
  var takesPresence: Bool { !presence.isEmpty }

  func answers(_ request: IQ) -> Bool { request.payload.first.map { requests[$0.name] != nil } ?? false }

  func handle(_ session: BoundSession) async throws { try await self.session?(session) }

  func handle(_ message: Message, _ session: BoundSession) async throws {
    let handler = message.payload.lazy.compactMap { messages[$0.name] }.first ?? messages[nil]
    try await handler?(message, session)
  }

  func handle(_ presence: Presence, _ session: BoundSession) async throws {
    let handler = presence.payload.lazy.compactMap { self.presence[$0.name] }.first ?? self.presence[nil]
    try await handler?(presence, session)
  }

  /// The answer to a request.
  func answer(_ request: IQ, _ session: BoundSession) async -> IQ {
    guard let handler = request.payload.first.flatMap({ requests[$0.name] }) else {
      return StanzaRouter.refusal(of: request)
    }
    do {
      var answer = IQ(type: .result, to: request.from, id: request.id)
      answer.payload = try await handler(request, session)
      return answer
    } catch let error as StanzaError {
      var answer = IQ(type: .error, to: request.from, id: request.id)
      answer.payload = [error.element]
      return answer
    } catch {
      return StanzaRouter.refusal(of: request, .internalServerError)
    }
  }
}
