import XMPP
import XMPPStanza
import XMPPXML

/// Those from whom nothing gets through to the account, nor anything of it to them (XEP-0191).
///
/// An entry may be a full or bare JID or a domain, with or without a resource (§2). Pushes tell of changes to every device
/// that has asked for the list.
public struct BlockList: Sendable, Equatable {
  /// Entries that are kept; what is beyond that is left out.
  public static let maximumEntries = 20_000
  public static let namespace = "urn:xmpp:blocking"

  /// What the server says of a change (§3.3, §3.4).
  public enum Push: Sendable, Equatable {
    case block([JID])
    case unblock([JID])
    case unblockAll

    /// Nil for what is no push that the own server may send. Entries that are no JIDs are left out.
    public init?(_ request: IQ, own: JID) {
      // Some servers leave `from` out, as with pushes of the roster.
      guard request.type == .set, request.from == nil || request.from == own.bare else { return nil }
      if let element = request.first("block", BlockList.namespace) {
        self = .block(BlockList.entries(in: element))
      } else if let element = request.first("unblock", BlockList.namespace) {
        self = element.elements.isEmpty ? .unblockAll : .unblock(BlockList.entries(in: element))
      } else {
        return nil
      }
    }
  }

  public var jids: Set<JID>

  public init(_ jids: Set<JID> = []) { self.jids = jids }

  /// The list in a result; nil where it holds none.
  public init?(_ answer: IQ) {
    guard answer.type == .result, let list = answer.first("blocklist", Self.namespace) else { return nil }
    jids = Set(Self.entries(in: list))
  }

  /// The request for the list (§3.2): from then on there are pushes.
  public static func request() -> IQ {
    IQ(type: .get, payload: [XMLElement("blocklist", namespace: namespace)])
  }

  /// The request to block (§3.3).
  public static func block(_ jids: [JID]) -> IQ { change("block", jids) }

  /// The request to unblock (§3.4).
  public static func unblock(_ jids: [JID]) -> IQ { change("unblock", jids) }

  /// The request to unblock everybody (§3.5).
  public static func unblockAll() -> IQ { change("unblock", []) }

  private static func change(_ what: String, _ jids: [JID]) -> IQ {
    let items = jids.map { XMLElement("item", namespace: namespace, attributes: ["jid": $0.description]) }
    return IQ(type: .set, payload: [XMLElement(what, namespace: namespace, children: items)])
  }

  /// Takes a push over.
  public mutating func apply(_ push: Push) {
    switch push {
    case .block(let new): for jid in new where jids.count < Self.maximumEntries { jids.insert(jid) }
    case .unblock(let old): jids.subtract(old)
    case .unblockAll: jids = []
    }
  }

  /// Whether nothing gets through to or from somebody, by the JID itself, its bare form or its domain (§2).
  public func blocks(_ jid: JID) -> Bool {
    jids.contains(jid) || jids.contains(jid.bare)
      || jids.contains { $0.local == nil && $0.domain == jid.domain && $0.resource == nil }
  }

  /// Acknowledges pushes that the own server may send.
  public static func responders(own: JID) -> [(XMLName, StreamConfiguration.Responder)] {
    ["block", "unblock"].map { name in
      (
        XMLName(name, namespace),
        { push in Push(push, own: own) == nil ? nil : IQ(type: .result, to: push.from, id: push.id) }
      )
    }
  }

  private static func entries(in element: XMLElement) -> [JID] {
    Array(
      element.elements.lazy.filter { $0.name == XMLName("item", namespace) }
        .compactMap { $0["jid"].flatMap { try? JID($0) } }.prefix(maximumEntries))
  }
}
