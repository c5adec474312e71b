import XMPP
import XMPPStanza
import XMPPXML

/// Who handles which stanzas of a client: by their kind, and by the name and namespace of their payload.
///
/// A handler that is registered for a payload comes before one that is registered for all stanzas of the kind. The last
/// one that is registered for the same thing replaces the earlier one.
public struct StanzaHandlers: Sendable {
  public typealias MessageHandler = @Sendable (Message, BoundSession) async throws -> Void
  public typealias PresenceHandler = @Sendable (Presence, BoundSession) async throws -> Void
  /// Gives the payload of the result; throws a ``StanzaError`` to answer with it. Any other error is answered
  /// `internal-server-error`.
  public typealias RequestHandler = @Sendable (IQ, BoundSession) async throws -> [XMLElement]
  public typealias SessionHandler = @Sendable (BoundSession) async throws -> Void

  private var messages: [XMLName?: MessageHandler] = [:]
  private var presence: [XMLName?: PresenceHandler] = [:]
  private var requests: [XMLName: RequestHandler] = [:]
  private var session: SessionHandler?

  public init() {}

  /// Called for each session that is bound, before its stanzas are handled. A new session is the place to send presence.
  public mutating func onSession(_ handler: @escaping SessionHandler) { session = handler }

  /// - Parameter payload: a child of the messages; nil: every message that has no handler of its own.
  public mutating func onMessage(with payload: XMLName? = nil, _ handler: @escaping MessageHandler) {
    messages[payload] = handler
  }

  /// - Parameter payload: a child of the presence; nil: every presence that has no handler of its own.
  public mutating func onPresence(with payload: XMLName? = nil, _ handler: @escaping PresenceHandler) {
    presence[payload] = handler
  }

  /// Answers requests of both types, get and set, whose payload has this name (RFC 6120 §8.2.3).
  public mutating func onRequest(_ payload: XMLName, _ handler: @escaping RequestHandler) {
    requests[payload] = handler
  }

  /// The names of the requests that are answered.
  var requestNames: Set<XMLName> { Set(requests.keys) }

  /// There is a handler of messages, or of presence, be it only for some of them.
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
