import XMPPStanza
import XMPPXML

/// The ids that tell a message from every other one, wherever its copies turn up (XEP-0359).
public enum StanzaID {
  public static let namespace = "urn:xmpp:sid:0"
  /// Octets of an id; a longer one counts as none.
  public static let maximumLength = 1024

  /// The id that `archive` has given the message; nil where it has given none.
  ///
  /// It says something only where `archive` announces this feature or an archive of its own: such a server removes
  /// what others have written in its name (§5).
  public static func given(to message: Message, by archive: JID) -> String? {
    let element = message.payload.first { child in
      child.name == XMLName("stanza-id", namespace)
        && child["by"].flatMap { try? JID($0) } == archive
    }
    return bounded(element?["id"])
  }

  /// The id that the sender has given it: worth as much as the sender is.
  public static func origin(of message: Message) -> String? {
    bounded(message.first("origin-id", namespace)?["id"])
  }

  /// What says that `id` is the sender's own.
  public static func origin(_ id: String) -> XMLElement {
    XMLElement("origin-id", namespace: namespace, attributes: ["id": id])
  }

  /// The `id` of a message, where it can be one that its sender gives to no other: some clients count their messages from
  /// 1 on, each time anew.
  public static func unique(_ id: String?) -> String? { id.flatMap { $0.utf8.count < 8 ? nil : $0 } }

  /// The id, unless it is empty or longer than anybody's.
  public static func bounded(_ id: String?) -> String? {
    guard let id, (1...maximumLength).contains(id.utf8.count) else { return nil }
    return id
  }
}
