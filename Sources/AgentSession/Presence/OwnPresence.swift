import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPClient
import XMPPStanza
import XMPPXML

/// The presence of this client: the desired one, and the one that others see.
///
/// Presence is desired state: it is stored, and sent whenever the session is online.
package final class OwnPresence {
  private unowned let session: Session
  private let context: SessionContext
  /// Decides who may learn that the session is online.
  let authorisation: PresenceAuthorisation
  private var intent = PresenceIntent()
  /// The presence that others see; nil where it is unknown or was not sent.
  private(set) var shown: Availability? {
    didSet { authorisation.isShown = shown.map { $0.show != .offline } ?? false }
  }
  /// The stream that was bound last.
  private var last: BoundSession?
  /// Whether directed presence was sent on the stream, whose recipients must be told of its end.
  private var hasDirected = false
  /// Waits for the end of a temporary presence.
  private var timer: Task<Void, Never>?
  /// The last write of the desired presence to the store.
  private var write: Task<Failure?, Never>?

  init(of session: Session, _ context: SessionContext) {
    self.session = session
    self.context = context
    authorisation = PresenceAuthorisation(account: context.account)
  }

  /// The bound stream; nil while there is none.
  private var stream: BoundSession? { last.flatMap { $0.isCurrent ? $0 : nil } }

  /// The presence that the user wants to show now.
  var wanted: Availability { intent.effective }

  /// The stored form of the desired presence.
  var desired: DesiredPresence { DesiredPresence(intent) }

  package var status: PresenceStatus {
    PresenceStatus(
      show: wanted.show, status: wanted.status, priority: wanted.priority,
      applied: session.ask { $0.online?.plan.sendsPresence } ?? false)
  }

  // MARK: Start and end of a session

  /// Called when a stream is bound, before any stanza is handled.
  func begin(_ stream: BoundSession) {
    last = stream
    hasDirected = false
    if !stream.isResumed { authorisation.forgetDirected() }
  }

  /// Records what the initial presence of a new session shows (RFC 6121 §4.2).
  ///
  /// - Parameter isSent: false where no presence is sent, so that nothing is shown.
  func beginInitial(isSent: Bool) { shown = isSent && wanted.show != .offline ? wanted : nil }

  /// Called when the session of an earlier agent was resumed.
  ///
  /// - Parameter shown: nil where the presence of the earlier agent may not have arrived.
  func restore(shown: Availability?) { self.shown = shown }

  /// Records that the last presence may not have arrived.
  func forgetShown() { shown = nil }

  /// The stanza that ends the session politely; empty where no presence was sent.
  var farewell: [XMLElement] {
    guard stream != nil, let sends = session.ask({ $0.online?.plan.sendsPresence }) else { return [] }
    let isAvailable = sends && wanted.show != .offline
    return isAvailable || hasDirected ? [Presence(type: .unavailable).element] : []
  }

  /// Sends the desired presence; returns whether it was sent.
  @discardableResult
  func send() async -> Bool {
    guard let stream else { return false }
    session.ask { $0.sendPresenceFromNowOn() }
    do throws(XMPPError) {
      let value = wanted
      shown = value
      try await stream.send([value.stanza()])
      return true
    } catch {
      // A stream that has ended does not keep the presence for the stream that resumes it.
      shown = nil
      return false
    }
  }

  // MARK: Desired presence

  /// Restores the stored presence.
  package func restore(_ stored: PresenceIntent) {
    intent = stored
    // The temporary presence may have expired while no agent ran.
    _ = intent.expire(at: Self.now)
    watchTime()
  }

  /// Adopts a stored presence that another process has changed, and sends it if presence is sent at all.
  func reload(_ stored: DesiredPresence?) async {
    let before = wanted
    var new = intent
    new.replaceStored(with: stored.map(PresenceIntent.init) ?? PresenceIntent())
    restore(new)
    if wanted != before, session.ask({ $0.online?.plan.sendsPresence }) == true { await send() }
  }

  /// Sets the presence that a login asks for.
  func want(_ show: PresenceShow) { intent.set(.init(show: show)) }

  /// Sets the desired presence and returns the current one; `applied` is false where the server does not show the
  /// requested one.
  ///
  /// - Parameter holder: the client until whose end a presence that is held lasts.
  package func set(
    _ parameters: PresenceSetMethod.Parameters, by holder: UInt64 = 0
  ) async throws(Failure) -> PresenceStatus {
    let isLasting = !parameters.hold && parameters.duration == nil && parameters.to == nil
    let value = Availability(
      show: parameters.show, status: parameters.status,
      priority: parameters.priority ?? intent.usualPriority(isLasting: isLasting))
    if let to = parameters.to {
      try await direct(value, to: to)
      return status
    }
    if parameters.hold {
      intent.hold(value, by: holder, since: parameters.since ?? Self.now)
    } else {
      intent.set(value, until: parameters.duration.map { Self.now + $0 })
    }
    let isShown = wanted == value
    watchTime()
    let isSent = await send()
    if !parameters.hold { try await store() }
    var status = status
    status.applied = isSent && isShown
    return status
  }

  /// Ends the hold of a client that has disconnected.
  package func release(_ holder: UInt64) async {
    let before = wanted
    if intent.release(holder), wanted != before { await send() }
  }

  private func direct(_ value: Availability, to text: String) async throws(Failure) {
    guard let stream else { throw Failure(.notLoggedIn, stage: .request) }
    let to = try JID(given: text)
    hasDirected = true
    authorisation.direct(to: to, isAvailable: value.show != .offline)
    do throws(XMPPError) { try await stream.send([value.stanza(to: to)]) } catch {
      throw Failure(error)
    }
  }

  /// Starts the timer that restores the previous presence after a temporary one.
  private func watchTime() {
    timer?.cancel()
    guard intent.timed != nil else { return }
    timer = session.start { await $0.presence.waitForTime() }
  }

  private func waitForTime() async {
    // The clock may be set back during the pause.
    while let until = intent.timed?.until, !Task.isCancelled {
      try? await Task.sleep(for: .seconds(max(0, until - Self.now)))
      guard !Task.isCancelled, intent.expire(at: Self.now) else { continue }
      await send()
      try? await store()
    }
  }

  /// Stores the presence. Writes are made in the order of the changes, so that the newest one remains.
  private func store() async throws(Failure) {
    let stored = desired
    let write = Task { [before = write, context] () async -> Failure? in
      _ = await before?.value
      do throws(Failure) {
        try await context.accounts.change(context.account) {
          $0.presence = stored
          $0.noPresence = nil
        }
        return nil
      } catch {
        return error
      }
    }
    self.write = write
    if let failure = await write.value { throw failure }
  }

  /// Seconds since 1970.
  private static var now: Double { Date().timeIntervalSince1970 }
}

extension Availability {
  /// The stanza that shows this presence (RFC 6121 §4.2, §4.5, §4.7).
  func stanza(to: JID? = nil) -> XMLElement {
    var presence = Presence(type: show == .offline ? .unavailable : nil, to: to, status: status)
    switch show {
    case .online, .offline: break
    case .chat, .away, .xa, .dnd: presence.show = Presence.Show(rawValue: show.rawValue)
    }
    if priority != 0, show != .offline { presence.priority = Int8(clamping: priority) }
    if show != .offline, let capabilities = ClientIdentity.capabilities {
      presence.payload.append(capabilities.element)
    }
    return presence.element
  }
}
