/// The XML namespaces of RFC 6120, RFC 6121 and some extensions.
public enum Namespaces {
  public static let client = "jabber:client"
  public static let streams = "http://etherx.jabber.org/streams"
  public static let streamErrors = "urn:ietf:params:xml:ns:xmpp-streams"
  public static let stanzaErrors = "urn:ietf:params:xml:ns:xmpp-stanzas"
  public static let tls = "urn:ietf:params:xml:ns:xmpp-tls"
  public static let sasl = "urn:ietf:params:xml:ns:xmpp-sasl"
  public static let bind = "urn:ietf:params:xml:ns:xmpp-bind"
  public static let session = "urn:ietf:params:xml:ns:xmpp-session"
  public static let roster = "jabber:iq:roster"
  public static let rosterVersioning = "urn:xmpp:features:rosterver"
  public static let preApproval = "urn:xmpp:features:pre-approval"
  public static let xml = "http://www.w3.org/XML/1998/namespace"

  /// XEP-0004: Data Forms.
  public static let dataForm = "jabber:x:data"
  /// XEP-0030: Service Discovery.
  public static let discoInfo = "http://jabber.org/protocol/disco#info"
  /// XEP-0030: Service Discovery.
  public static let discoItems = "http://jabber.org/protocol/disco#items"
  /// XEP-0066: Out of Band Data.
  public static let outOfBand = "jabber:x:oob"
  /// XEP-0077: In-Band Registration.
  public static let register = "jabber:iq:register"
  /// XEP-0092: Software Version.
  public static let version = "jabber:iq:version"
  /// XEP-0115: Entity Capabilities.
  public static let capabilities = "http://jabber.org/protocol/caps"
  /// XEP-0198: Stream Management.
  public static let streamManagement = "urn:xmpp:sm:3"
  /// XEP-0199: XMPP Ping.
  public static let ping = "urn:xmpp:ping"
  /// XEP-0202: Entity Time.
  public static let time = "urn:xmpp:time"
  /// XEP-0203: Delayed Delivery.
  public static let delay = "urn:xmpp:delay"
  /// XEP-0280: Message Carbons.
  public static let carbons = "urn:xmpp:carbons:2"
  /// XEP-0221: Data Forms Media Element.
  public static let media = "urn:xmpp:media-element"
  /// XEP-0297: Stanza Forwarding.
  public static let forward = "urn:xmpp:forward:0"
  /// XEP-0352: Client State Indication.
  public static let clientState = "urn:xmpp:csi:0"
  /// XEP-0386: Bind 2.
  public static let bind2 = "urn:xmpp:bind:0"
  /// XEP-0388: Extensible SASL Profile.
  public static let sasl2 = "urn:xmpp:sasl:2"
  /// XEP-0440: SASL Channel-Binding Type Capability.
  public static let channelBinding = "urn:xmpp:sasl-cb:0"
  /// XEP-0484: Fast Authentication Streamlining Tokens.
  public static let fast = "urn:xmpp:fast:0"
  /// This project's own: a text for the authentication service that accompanies a login.
  public static let loginExtension = "urn:imctl:login-ext:0"
  /// This project's own: the private node with the devices of an account.
  public static let devices = "urn:imctl:devices:0"
  /// This project's own: the private node with events among the devices of an account.
  public static let events = "urn:imctl:events:0"
  /// This project's own: the private node with the settings of an account's conversations.
  public static let conversations = "urn:imctl:conversations:0"
}
