import XMPPStanza
import XMPPXML

/// What the server tells of the clients that may log in to the account, online or not (XEP-0494 §3.1).
///
/// It knows no resources: a client is known by the name that it gave when it logged in.
public struct ManagedClient: Sendable, Equatable {
  /// Clients that are kept of an answer, and characters of each text.
  static let maximumClients = 100
  static let maximumLength = 256

  /// The namespaces of the specification and of the module that it was made from.
  public static let namespaces = ["urn:xmpp:cam:0", "xmpp:prosody.im/protocol/manage-clients"]

  public var id: String
  public var isConnected: Bool
  /// As the server writes times: RFC 3339.
  public var lastSeen: String?
  public var software: String?
  /// What the client has called its device.
  public var device: String?

  /// - Parameter namespace: one of ``namespaces``; no server says beforehand whether it knows it.
  public static func request(_ namespace: String) -> IQ {
    IQ(type: .get, payload: [XMLElement("list", namespace: namespace)])
  }

  /// The clients of an answer; none where it is an error.
  public static func clients(of answer: IQ) -> [ManagedClient] {
    guard answer.type == .result, let list = answer.child, namespaces.contains(list.name.namespace),
      list.name.local == "clients"
    else { return [] }
    return Array(list.elements.lazy.compactMap(ManagedClient.init).prefix(maximumClients))
  }

  private init?(_ element: XMLElement) {
    guard element.name.local == "client", let id = element["id"].flatMap(Self.bounded) else { return nil }
    self.id = id
    isConnected = ["true", "1"].contains(element["connected"])
    lastSeen = element.first("last-seen").flatMap { Self.bounded($0.text) }
    let agent = element.first("user-agent")
    software = agent?.first("software").flatMap { Self.bounded($0.text) }
    device = agent?.first("device").flatMap { Self.bounded($0.text) }
  }

  private static func bounded(_ text: String) -> String? {
    text.isEmpty ? nil : String(String.UnicodeScalarView(text.unicodeScalars.prefix(maximumLength)))
  }
}
