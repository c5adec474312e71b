import XMPP
import XMPPStanza
import XMPPXML

/// Who may see whose presence, asked for and granted (RFC 6121 §3).
///
/// Each of these goes to a bare JID. What follows from it comes as a push of the ``Roster``.
public enum PresenceSubscription {
  /// Characters that are kept of what comes with a request.
  public static let maximumText = 1024

  /// Asks a contact to show its presence (§3.1).
  public static func request(_ contact: JID, text: String? = nil) -> Presence {
    Presence(type: .subscribe, to: contact.bare, status: text)
  }

  /// Shows a contact the own presence from now on (§3.1.4), or as soon as it asks (§3.4).
  public static func approval(of contact: JID) -> Presence { Presence(type: .subscribed, to: contact.bare) }

  /// Refuses a request (§3.1.4), takes an approval back (§3.2), or a pre-approval (§3.4).
  public static func denial(of contact: JID) -> Presence { Presence(type: .unsubscribed, to: contact.bare) }

  /// The contact's presence is not wanted any more (§3.3).
  public static func cancellation(of contact: JID) -> Presence {
    Presence(type: .unsubscribe, to: contact.bare)
  }

  /// Whether a server takes approvals of requests that have not come (§3.4.1).
  public static func isPreApprovalOffered(_ features: StreamFeatures) -> Bool {
    features.offers("sub", Namespaces.preApproval)
  }

  /// A contact's request to see the own presence. The server sends it again at every login, until it is approved or
  /// denied (§3.1.3).
  public struct Request: Sendable, Equatable {
    /// Bare.
    public var jid: JID
    /// What the contact says to it.
    public var text: String?

    public init(jid: JID, text: String? = nil) {
      self.jid = jid.bare
      self.text = text
    }

    /// Nil for what is none, or comes from the own account.
    public init?(_ presence: Presence, own: JID) {
      guard presence.type == .subscribe, let from = presence.from, from.bare != own.bare else { return nil }
      jid = from.bare
      text = presence.status.flatMap { status in
        let text = String(String.UnicodeScalarView(status.unicodeScalars.prefix(maximumText)))
        return text.isEmpty ? nil : text
      }
    }
  }
}
