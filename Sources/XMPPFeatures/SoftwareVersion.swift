import XMPP
import XMPPStanza
import XMPPXML

/// The software of an entity (XEP-0092).
public struct SoftwareVersion: Sendable, Equatable {
  /// The maximum length of each text in characters.
  static let maximumLength = 256

  public var name: String?
  public var version: String?
  /// The operating system, if the entity reveals it.
  public var system: String?

  static let question = XMLName("query", Namespaces.version)

  public init(name: String?, version: String?, system: String? = nil) {
    self.name = name
    self.version = version
    self.system = system
  }

  public static func request(_ entity: JID) -> IQ {
    IQ(type: .get, to: entity, payload: [XMLElement(question.local, namespace: question.namespace)])
  }

  /// Returns nil if the answer is empty.
  public init?(_ answer: IQ) {
    guard answer.type == .result, let query = answer.first(Self.question.local, Self.question.namespace)
    else { return nil }
    func text(_ name: String) -> String? {
      guard let text = query.first(name)?.text, !text.isEmpty else { return nil }
      return String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.maximumLength)))
    }
    self.init(name: text("name"), version: text("version"), system: text("os"))
    if name == nil, version == nil, system == nil { return nil }
  }

  public var element: XMLElement {
    let parts = [("name", name), ("version", version), ("os", system)]
    return XMLElement(
      Self.question.local, namespace: Self.question.namespace,
      children: parts.compactMap { name, text in
        text.map { XMLElement(name, namespace: Self.question.namespace, text: $0) }
      })
  }

  /// Answers every request with this software.
  public var responder: (XMLName, StreamConfiguration.Responder) {
    (
      Self.question,
      { question in
        guard question.type == .get else { return nil }
        return IQ(type: .result, to: question.from, id: question.id, payload: [element])
      }
    )
  }
}
