import NIOConcurrencyHelpers
import XMPPStanza

/// Decides who may learn that a session is online: its own account and server, and everyone who sees its presence.
///
/// A request from anyone else is answered as by a server that has no such session (RFC 6120 §8.4), so that strangers
/// cannot learn whether a user is online (§13.10.2). Used on the stream's event loop.
final class PresenceAuthorisation: Sendable {
  /// The maximum number of remembered recipients of directed presence.
  static let maximumDirected = 1000

  private struct State {
    /// Bare JIDs of contacts who are subscribed to the account's presence.
    var subscribers: Set<JID> = []
    /// Bare JIDs of the recipients of directed presence.
    var directed: Set<JID> = []
    /// Whether subscribers see that the session is available.
    var isShown = false
  }

  private let account: JID
  private let state = NIOLockedValueBox(State())

  init(account: JID) { self.account = account.bare }

  /// Whether subscribers see that the session is available.
  var isShown: Bool {
    get { state.withLockedValue { $0.isShown } }
    set { state.withLockedValue { $0.isShown = newValue } }
  }

  /// Sets the bare JIDs of all subscribers in the roster.
  func replace(subscribers: Set<JID>) { state.withLockedValue { $0.subscribers = subscribers } }

  /// Adds or removes a subscriber.
  func change(_ contact: JID, isSubscriber: Bool) {
    state.withLockedValue { state in
      if isSubscriber {
        state.subscribers.insert(contact.bare)
      } else {
        state.subscribers.remove(contact.bare)
      }
    }
  }

  /// Records directed presence to somebody, or its end.
  func direct(to jid: JID, isAvailable: Bool) {
    state.withLockedValue { state in
      if !isAvailable {
        state.directed.remove(jid.bare)
      } else if state.directed.count < Self.maximumDirected {
        state.directed.insert(jid.bare)
      }
    }
  }

  /// Forgets the recipients of directed presence when a new session starts.
  func forgetDirected() { state.withLockedValue { $0.directed = [] } }

  /// Whether this sender may learn it; a request without a sender comes from the account's server.
  func admits(_ jid: JID?) -> Bool {
    guard let bare = jid?.bare else { return true }
    if bare == account || bare.description == account.domain { return true }
    return state.withLockedValue { state in
      state.directed.contains(bare) || (state.isShown && state.subscribers.contains(bare))
    }
  }
}
