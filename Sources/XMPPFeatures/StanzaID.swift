import XMPPStanza
import XMPPXML

/// Ids that identify a message uniquely in all its copies (XEP-0359).
public enum StanzaID {
  public static let namespace = "urn:xmpp:sid:0"
  /// The maximum length of an id in octets; a longer id is ignored.
  public static let maximumLength = 1024

  /// The id that `archive` has assigned to the message; nil if there is none.
  ///
  /// It can be trusted only if `archive` announces this feature or an archive. Such a server removes ids that others
  /// have added in its name (§5).
  public static func given(to message: Message, by archive: JID) -> String? {
    let element = message.payload.first { child in
      child.name == XMLName("stanza-id", namespace)
        && child["by"].flatMap { try? JID($0) } == archive
    }
    return bounded(element?["id"])
  }

  /// The id from the sender, which is only as trustworthy as the sender.
  public static func origin(of message: Message) -> String? {
    bounded(message.first("origin-id", namespace)?["id"])
  }

  /// The element with the sender's own id.
  public static func origin(_ id: String) -> XMLElement {
    XMLElement("origin-id", namespace: namespace, attributes: ["id": id])
  }

  /// The `id` of a message, if it may be unique for its sender; nil for a short id, because some clients count their
  /// messages from 1 in each session.
  public static func unique(_ id: String?) -> String? { id.flatMap { $0.utf8.count < 8 ? nil : $0 } }

  /// The id, unless it is empty or too long.
  public static func bounded(_ id: String?) -> String? {
    guard let id, (1...maximumLength).contains(id.utf8.count) else { return nil }
    return id
  }
}
