import AgentProtocol
import AgentStore
import FoundationEssentials
import XMPP
import XMPPStanza
import XMPPXML

// Presence is desired state: stored, and sent whenever the session is online.

extension Session {
  func presenceStatus() -> PresenceStatus {
    let value = presence.effective
    return PresenceStatus(
      show: value.show, status: value.status, priority: value.priority,
      applied: online.map(\.plan.sendsPresence) ?? false)
  }

  /// Takes over what is stored of the desired presence.
  func restore(_ stored: PresenceIntent) {
    presence = stored
    // Its time may have come while no agent ran.
    _ = presence.expire(at: Self.now)
    watchPresenceTime()
  }

  /// Answers what is shown now; `applied` is false where the server does not show what was asked for.
  func setPresence(_ parameters: PresenceSetMethod.Parameters, by client: ClientHandle) async throws(Failure)
    -> PresenceStatus
  {
    let isLasting = !parameters.hold && parameters.duration == nil && parameters.to == nil
    let value = PresenceIntent.Value(
      show: parameters.show, status: parameters.status,
      priority: parameters.priority ?? presence.usualPriority(isLasting: isLasting))
    if let to = parameters.to {
      try await direct(value, to: to)
      return presenceStatus()
    }
    if parameters.hold {
      presence.hold(value, by: client.id, since: parameters.since ?? Self.now)
    } else {
      presence.set(value, until: parameters.duration.map { Self.now + $0 })
    }
    let isShown = presence.effective == value
    watchPresenceTime()
    let isApplied = await applyPresence()
    if !parameters.hold { try await storePresence() }
    var status = presenceStatus()
    status.applied = isApplied && isShown
    return status
  }

  /// Ends the hold of a client that went away.
  func release(_ client: ClientHandle) async {
    let before = presence.effective
    if presence.release(client.id), presence.effective != before { await applyPresence() }
  }

  private func direct(_ value: PresenceIntent.Value, to text: String) async throws(Failure) {
    guard let online else { throw Failure(.notLoggedIn, stage: .request) }
    let to = try JID(given: text)
    self.online?.hasDirectedPresence = true
    audience.direct(to: to, isAvailable: value.show != .offline)
    do throws(XMPPError) { try await online.stream.send([value.stanza(to: to)]) } catch {
      throw Failure(error)
    }
  }

  /// Sends the presence that is wanted now; whether it was sent.
  @discardableResult
  func applyPresence() async -> Bool {
    guard let online else { return false }
    self.online?.plan.sendsPresence = true
    kept?.sendsPresence = true
    do throws(XMPPError) {
      let value = presence.effective
      shownPresence = value
      try await online.stream.send([value.stanza()])
      return true
    } catch {
      // A stream that has ended does not even keep it for the one that resumes.
      shownPresence = nil
      return false
    }
  }

  /// What a session says before it ends: nothing where it has not shown itself.
  var farewell: [XMLElement] {
    guard let online else { return [] }
    let isAvailable = online.plan.sendsPresence && presence.effective.show != .offline
    return isAvailable || online.hasDirectedPresence ? [Presence(type: .unavailable).element] : []
  }

  /// A presence for a time ends by itself; what was before comes back.
  private func watchPresenceTime() {
    presenceTimer?.cancel()
    guard presence.timed != nil else { return }
    presenceTimer = Task {
      // The clock may be set back while this sleeps.
      while let until = presence.timed?.until, !Task.isCancelled {
        try? await Task.sleep(for: .seconds(max(0, until - Self.now)))
        guard !Task.isCancelled, presence.expire(at: Self.now) else { continue }
        await applyPresence()
        try? await storePresence()
      }
    }
  }

  /// Writes happen in the order of the changes, so that the newest is what stays.
  private func storePresence() async throws(Failure) {
    let stored = DesiredPresence(presence)
    let write = Task { [before = presenceWrite] () async -> Failure? in
      _ = await before?.value
      do throws(Failure) {
        try await accounts.change(account) {
          $0.presence = stored
          $0.noPresence = nil
        }
        return nil
      } catch {
        return error
      }
    }
    presenceWrite = write
    if let failure = await write.value { throw failure }
  }

  /// Seconds since 1970.
  private static var now: Double { Date().timeIntervalSince1970 }
}

extension PresenceIntent.Value {
  /// The presence stanza that shows this (RFC 6121 §4.2, §4.5, §4.7).
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
