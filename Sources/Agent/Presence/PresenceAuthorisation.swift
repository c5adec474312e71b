import NIOConcurrencyHelpers
import XMPPStanza

/// Who may know that a session is there: its own account and server, and those who are shown its presence.
///
/// Anybody else who asks it something gets the answer of a server that has no such session (RFC 6120 §8.4): so a
/// stranger cannot learn whether somebody is online (§13.10.2). Asked on the stream's event loop.
final class PresenceAuthorisation: Sendable {
  /// Addresses of directed presence that are remembered.
  static let maximumDirected = 1000

  private struct State {
    /// Bare JIDs of contacts who are subscribed to the account's presence.
    var subscribers: Set<JID> = []
    /// Bare JIDs of those who were sent presence of their own.
    var directed: Set<JID> = []
    /// Subscribers are shown that the session is available.
    var isShown = false
  }

  private let account: JID
  private let state = NIOLockedValueBox(State())

  init(account: JID) { self.account = account.bare }

  /// The presence that subscribers see; false: none.
  var isShown: Bool {
    get { state.withLockedValue { $0.isShown } }
    set { state.withLockedValue { $0.isShown = newValue } }
  }

  /// Who is subscribed, of the whole roster: bare JIDs.
  func replace(subscribers: Set<JID>) { state.withLockedValue { $0.subscribers = subscribers } }

  /// A contact is subscribed from now on, or is not any more.
  func change(_ contact: JID, isSubscriber: Bool) {
    state.withLockedValue { state in
      if isSubscriber {
        state.subscribers.insert(contact.bare)
      } else {
        state.subscribers.remove(contact.bare)
      }
    }
  }

  /// Somebody was sent presence of their own, or is told that it is over.
  func direct(to jid: JID, isAvailable: Bool) {
    state.withLockedValue { state in
      if !isAvailable {
        state.directed.remove(jid.bare)
      } else if state.directed.count < Self.maximumDirected {
        state.directed.insert(jid.bare)
      }
    }
  }

  /// A new session: nobody was sent presence of their own yet.
  func forgetDirected() { state.withLockedValue { $0.directed = [] } }

  /// Whether somebody may know; a request without a sender is the own server's.
  func admits(_ jid: JID?) -> Bool {
    guard let bare = jid?.bare else { return true }
    if bare == account || bare.description == account.domain { return true }
    return state.withLockedValue { state in
      state.directed.contains(bare) || (state.isShown && state.subscribers.contains(bare))
    }
  }
}
