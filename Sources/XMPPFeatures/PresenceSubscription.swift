import XMPP
import XMPPStanza
import XMPPXML

/// Requests and grants of presence subscriptions (RFC 6121 §3).
///
/// Each of these stanzas is sent to a bare JID. Its effect arrives as a push of the ``Roster``.
public enum PresenceSubscription {
  /// The maximum length of a request's text in characters.
  public static let maximumText = 1024

  /// Asks to see a contact's presence (§3.1).
  public static func request(_ contact: JID, text: String? = nil) -> Presence {
    Presence(type: .subscribe, to: contact.bare, status: text)
  }

  /// Lets a contact see the own presence, now (§3.1.4) or as soon as it asks (§3.4).
  public static func approval(of contact: JID) -> Presence { Presence(type: .subscribed, to: contact.bare) }

  /// Refuses a request (§3.1.4), or withdraws an approval (§3.2) or a pre-approval (§3.4).
  public static func denial(of contact: JID) -> Presence { Presence(type: .unsubscribed, to: contact.bare) }

  /// Ends the subscription to a contact's presence (§3.3).
  public static func cancellation(of contact: JID) -> Presence {
    Presence(type: .unsubscribe, to: contact.bare)
  }

  /// Whether the server supports approvals in advance (§3.4.1).
  public static func isPreApprovalOffered(_ features: StreamFeatures) -> Bool {
    features.offers("sub", Namespaces.preApproval)
  }

  /// A contact's request to see the own presence. The server repeats it at every login until it is approved or denied
  /// (§3.1.3).
  public struct Request: Sendable, Equatable {
    /// The bare JID.
    public var jid: JID
    /// The text of the request.
    public var text: String?

    public init(jid: JID, text: String? = nil) {
      self.jid = jid.bare
      self.text = text
    }

    /// Returns nil if the presence is not a request, or comes from the own account.
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
