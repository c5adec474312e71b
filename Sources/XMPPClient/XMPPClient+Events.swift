import XMPP
import XMPPFeatures
import XMPPStanza
import XMPPXML

// Handles the events of a client's streams.

extension XMPPClient {
  /// - Parameter events: one event, or several messages or requests that arrived together.
  func handle(_ events: [StreamEvent], of connection: Connection, _ number: Int) async {
    var rest = events[...]
    while let event = rest.first {
      let together = rest.prefix(while: isForNoHandler)
      if !together.isEmpty, let session = connection.session, session.isCurrent {
        rest.removeFirst(together.count)
        await configuration.onEvent(.other(Array(together), session))
      } else {
        rest.removeFirst()
        await handle(event, of: connection, number)
      }
    }
  }

  /// Whether the event is a message or request without a handler.
  private func isForNoHandler(_ event: StreamEvent) -> Bool {
    switch event {
    case .message: !configuration.handlers.takesMessages
    case .request(let request): !configuration.handlers.answers(request)
    default: false
    }
  }

  private func handle(_ event: StreamEvent, of connection: Connection, _ number: Int) async {
    switch event {
    case .step(.loginOK(let bound)): await bind(connection, bound, number)
    case .step(let step):
      guard isAttempt(number, .opening) else { return }
      machine.succession.passed(step)
      await configuration.onEvent(.step(step))
    case .closed(let error): await ended(connection, error, number)
    case .acknowledged:
      guard let session = connection.session else { return }
      await configuration.onEvent(.other([event], session))
    default:
      guard let session = connection.session, session.isCurrent else { return }
      do { try await handle(event, in: session) } catch {
        // Calls on a session that has just ended fail, and its end is reported anyway.
        if session.isCurrent { await configuration.onEvent(.handlerFailed(error)) }
      }
    }
  }

  private func handle(_ event: StreamEvent, in session: BoundSession) async throws {
    let handlers = configuration.handlers
    switch event {
    case .message(let message) where handlers.takesMessages: try await handlers.handle(message, session)
    case .presence(let presence) where handlers.takesPresence: try await handlers.handle(presence, session)
    case .request(let request) where handlers.answers(request): try await answer(request, in: session)
    default: await configuration.onEvent(.other([event], session))
    }
  }

  private func bind(_ connection: Connection, _ bound: BoundStream, _ number: Int) async {
    let replaced = session
    let actions = machine.handle(.bound(number), at: configuration.clock.uptime())
    guard machine.linkNumber == number, machine.state.link == .beginning else {
      return await carryOut(actions, wasOffline: true)
    }
    replaced?.end()
    let session = BoundSession(connection.stream, bound, number: number)
    connection.session = session
    let ended = waiters.filter(\.isForSession).map(\.continuation)
    waiters.removeAll(where: \.isForSession)
    await carryOut(actions, wasOffline: true)
    await configuration.onEvent(.bound(session))
    for waiter in ended { waiter.resume(returning: .success(session)) }
    do { try await configuration.handlers.handle(session) } catch {
      if session.isCurrent { await configuration.onEvent(.handlerFailed(error)) }
    }
    if configuration.acceptsSessions { await accept(session) }
  }

  func ended(_ connection: Connection, _ error: XMPPError?, _ number: Int) async {
    let management = await connection.stream.management
    // The end may have been reported already.
    guard connections.removeValue(forKey: number) != nil else { return }
    connection.session?.end()
    let isLink = machine.linkNumber == number && machine.state.link != .none
    let wasOffline = machine.isOffline
    let actions = machine.handle(
      .ended(number, error, leaving: management), at: configuration.clock.uptime())
    if let session = connection.session {
      await configuration.onEvent(isLink ? .lost(session, error, cure: machine.cure) : .replaced(session))
    }
    await carryOut(actions, wasOffline: wasOffline)
  }

  /// Requests are answered in tasks of their own, so that a slow answer does not delay later stanzas.
  private func answer(_ request: IQ, in session: BoundSession) async throws {
    guard openRequests < Self.maximumRequests else {
      return try await session.send([StanzaRouter.refusal(of: request, .resourceConstraint).element])
    }
    openRequests += 1
    Task {
      try? await session.send([configuration.handlers.answer(request, session).element])
      openRequests -= 1
    }
  }

  /// Tells the server whether the client is active; returns whether the server wants to know.
  func tellClientState() async -> Bool {
    guard let session, let connection = connections[session.number] else { return false }
    // After an inline resumption, the features may still be under way.
    if let features = await session.features { wantsClientState = ClientState.isOffered(by: features) }
    guard wantsClientState, connection.isActive != isActive else { return wantsClientState }
    connection.isActive = isActive
    do throws(XMPPError) {
      try await session.send([(isActive ? ClientState.active : .inactive).element])
      return true
    } catch {
      return false
    }
  }
}
