import XMPPStanza
import XMPPXML

/// A client that may log in to the account, online or not, as the server reports it (XEP-0494 §3.1).
///
/// The report has no resources: a client is identified by the name that it gave when it logged in.
public struct ManagedClient: Sendable, Equatable {
  /// The maximum number of clients of an answer, and of characters of each text.
  static let maximumClients = 100
  static let maximumLength = 256

  /// The namespaces of the specification and of the module that preceded it.
  public static let namespaces = ["urn:xmpp:cam:0", "xmpp:prosody.im/protocol/manage-clients"]

  public var id: String
  public var isConnected: Bool
  /// RFC 3339, from the server.
  public var lastSeen: String?
  public var software: String?
  /// The name that the client has given to its device.
  public var device: String?

  /// - Parameter namespace: One of ``namespaces``; servers do not announce which one they support.
  public static func request(_ namespace: String) -> IQ {
    IQ(type: .get, payload: [XMLElement("list", namespace: namespace)])
  }

  /// The clients in an answer; empty if it is an error.
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
