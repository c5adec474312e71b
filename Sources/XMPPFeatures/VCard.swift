import XMPP
import XMPPStanza
import XMPPXML

/// The profile of a user as a vCard (XEP-0054).
///
/// Only plain fields can be read and set. Other content, such as a picture, remains when the card is changed.
public struct VCard: Sendable, Equatable {
  public enum Field: String, Sendable, CaseIterable {
    case name, nickname, email, phone, organization, title, role, birthday, url, jid, note

    /// The path of the field in the card; the first of several such elements counts.
    fileprivate var path: [String] {
      switch self {
      case .name: ["FN"]
      case .nickname: ["NICKNAME"]
      case .email: ["EMAIL", "USERID"]
      case .phone: ["TEL", "NUMBER"]
      case .organization: ["ORG", "ORGNAME"]
      case .title: ["TITLE"]
      case .role: ["ROLE"]
      case .birthday: ["BDAY"]
      case .url: ["URL"]
      case .jid: ["JABBERID"]
      case .note: ["DESC"]
      }
    }
  }

  /// The maximum length of a field in characters.
  static let maximumLength = 4096
  private static let root = XMLName("vCard", "vcard-temp")

  private var element = XMLElement(name: root)

  public init() {}

  /// - Parameter entity: The entity; nil for the own account.
  public static func request(_ entity: JID? = nil) -> IQ {
    IQ(type: .get, to: entity, payload: [XMLElement(name: root)])
  }

  /// The card in an answer, empty if the entity has none; nil for any other error.
  public init?(_ answer: IQ) {
    guard answer.type == .result || answer.error?.condition == .itemNotFound else { return nil }
    if let element = answer.first(Self.root.local, Self.root.namespace) { self.element = element }
  }

  /// The request to publish the card as that of the own account.
  public var publication: IQ { IQ(type: .set, payload: [element]) }

  /// The text of a field; nil if it is missing, or to remove it.
  public subscript(field: Field) -> String? {
    get {
      let found = field.path.reduce(element as XMLElement?) { $0?.first($1) }
      guard let text = found?.text, !text.isEmpty else { return nil }
      return String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.maximumLength)))
    }
    set { element.set(newValue, at: field.path[...]) }
  }
}

extension XMLElement {
  /// Sets the text at a path of children; nil removes the first child of the path.
  fileprivate mutating func set(_ text: String?, at path: ArraySlice<String>) {
    guard let first = path.first else {
      children = text.map { [.text($0)] } ?? []
      return
    }
    let name = XMLName(first, name.namespace)
    let index = children.firstIndex { if case .element(let child) = $0 { child.name == name } else { false } }
    var child = self.first(first) ?? XMLElement(name: name)
    child.set(text, at: path.dropFirst())
    switch (index, text) {
    case (let index?, nil): children.remove(at: index)
    case (let index?, _): children[index] = .element(child)
    case (nil, nil): break
    case (nil, _): children.append(.element(child))
    }
  }
}
