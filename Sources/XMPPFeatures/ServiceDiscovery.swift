import NIOCore
import XMPP
import XMPPStanza
import XMPPXML

/// The identities and features of an entity (XEP-0030 §3), and forms with details (XEP-0128).
public struct ServiceDiscovery: Sendable, Equatable {
  /// The kind of an entity (§3.1), such as `server` with the type `im`.
  public struct Identity: Hashable, Sendable {
    public var category: String
    public var type: String
    public var name: String?
    /// The `xml:lang` of the name.
    public var language: String?

    public init(category: String, type: String, name: String? = nil, language: String? = nil) {
      self.category = category
      self.type = type
      self.name = name
      self.language = language
    }
  }

  /// The maximum number of features in an answer.
  static let maximumFeatures = 1000
  /// The maximum numbers of identities and of forms in an answer.
  static let maximumIdentities = 50

  public var identities: [Identity]
  public var features: Set<String>
  /// Forms of the type `result`.
  public var forms: [DataForm]
  /// False if the answer had a duplicate feature or exceeded a maximum, so that it cannot be verified (XEP-0115 §5.4).
  public private(set) var isExact = true

  static let question = XMLName("query", Namespaces.discoInfo)

  public init(identities: [Identity], features: Set<String>, forms: [DataForm] = []) {
    self.identities = identities
    self.features = features
    self.forms = forms
  }

  /// - Parameter entity: The entity; nil for the own account.
  public static func request(_ entity: JID? = nil, node: String? = nil) -> IQ {
    IQ(
      type: .get, to: entity,
      payload: [XMLElement("query", namespace: Namespaces.discoInfo, attributes: ["node": node])])
  }

  /// Returns nil if the answer has no features.
  public init?(_ answer: IQ) {
    guard answer.type == .result, let query = answer.first("query", Namespaces.discoInfo) else { return nil }
    let parts = query.elements
    identities = Array(parts.lazy.compactMap(Identity.init).prefix(Self.maximumIdentities))
    let features = parts.filter { $0.name == XMLName("feature", Namespaces.discoInfo) }.compactMap {
      $0["var"]
    }
    self.features = Set(features.prefix(Self.maximumFeatures))
    forms = Array(parts.lazy.compactMap { DataForm($0, type: "result") }.prefix(Self.maximumIdentities))
    let others = parts.count { $0.name != XMLName("feature", Namespaces.discoInfo) }
    isExact = features.count == self.features.count && others <= Self.maximumIdentities
  }

  /// Sends the request and returns the answer; nil for an error.
  public static func ask(
    _ entity: JID? = nil, on stream: some RequestStream, timeout: TimeAmount = .seconds(10)
  ) async throws(XMPPError) -> ServiceDiscovery? {
    ServiceDiscovery(try await stream.request(request(entity), timeout: timeout))
  }

  /// The answer to a request for `node`.
  public func element(node: String? = nil) -> XMLElement {
    XMLElement(
      "query", namespace: Namespaces.discoInfo, attributes: ["node": node],
      children: identities.map(\.element)
        + features.sorted().map {
          XMLElement("feature", namespace: Namespaces.discoInfo, attributes: ["var": $0])
        } + forms.map(\.result))
  }

  /// Answers requests for this entity, or for one of `nodes`; other nodes do not exist (§3.1).
  public func responder(nodes: Set<String> = []) -> (XMLName, StreamConfiguration.Responder) {
    (
      Self.question,
      { question in
        guard question.type == .get, let query = question.payload.first else { return nil }
        let node = query["node"]
        if let node, !nodes.contains(node) { return StanzaRouter.refusal(of: question, .itemNotFound) }
        return IQ(type: .result, to: question.from, id: question.id, payload: [element(node: node)])
      }
    )
  }
}

extension ServiceDiscovery.Identity {
  init?(_ element: XMLElement) {
    guard element.name == XMLName("identity", Namespaces.discoInfo), let category = element["category"],
      let type = element["type"]
    else { return nil }
    self.init(category: category, type: type, name: element["name"], language: element.language)
  }

  var element: XMLElement {
    var element = XMLElement(
      "identity", namespace: Namespaces.discoInfo,
      attributes: ["category": category, "type": type, "name": name])
    element[XMLName("lang", Namespaces.xml)] = language
    return element
  }
}

/// An item of an entity (XEP-0030 §4), such as a service of a server.
public struct ServiceItem: Sendable, Equatable {
  /// The maximum number of items in an answer.
  static let maximumItems = 1000

  public var jid: JID
  public var name: String?
  public var node: String?

  public static func request(_ entity: JID) -> IQ {
    IQ(type: .get, to: entity, payload: [XMLElement("query", namespace: Namespaces.discoItems)])
  }

  /// The items in an answer; nil if it has none. Items with an invalid JID are skipped.
  public static func items(of answer: IQ) -> [ServiceItem]? {
    guard answer.type == .result, let query = answer.first("query", Namespaces.discoItems) else { return nil }
    return Array(query.elements.lazy.compactMap(ServiceItem.init).prefix(maximumItems))
  }

  /// Answers requests for items with an empty list.
  public static let responder: (XMLName, StreamConfiguration.Responder) = (
    XMLName("query", Namespaces.discoItems),
    { question in
      guard question.type == .get, let query = question.payload.first else { return nil }
      let nothing = XMLElement("query", namespace: Namespaces.discoItems, attributes: ["node": query["node"]])
      return IQ(type: .result, to: question.from, id: question.id, payload: [nothing])
    }
  )

  private init?(_ element: XMLElement) {
    guard element.name == XMLName("item", Namespaces.discoItems),
      let jid = element["jid"].flatMap({ try? JID($0) })
    else { return nil }
    self.jid = jid
    name = element["name"]
    node = element["node"]
  }
}
