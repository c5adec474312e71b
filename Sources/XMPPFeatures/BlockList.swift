import XMPP
import XMPPStanza
import XMPPXML

/// The addresses that the account blocks in both directions (XEP-0191).
///
/// An entry is a full or bare JID, or a domain with or without a resource (§2). Pushes announce changes to every device
/// that has requested the list.
public struct BlockList: Sendable, Equatable {
  /// The maximum number of stored entries; others are dropped.
  public static let maximumEntries = 20_000
  public static let namespace = "urn:xmpp:blocking"

  /// A change that the server announces (§3.3, §3.4).
  public enum Push: Sendable, Equatable {
    case block([JID])
    case unblock([JID])
    case unblockAll

    /// Returns nil if the request is not a push from the account's server. Invalid JIDs are skipped.
    public init?(_ request: IQ, own: JID) {
      // Some servers omit `from`, as in roster pushes.
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

  /// The list in a result; nil if there is none.
  public init?(_ answer: IQ) {
    guard answer.type == .result, let list = answer.first("blocklist", Self.namespace) else { return nil }
    jids = Set(Self.entries(in: list))
  }

  /// The request for the list (§3.2), which also subscribes to pushes.
  public static func request() -> IQ {
    IQ(type: .get, payload: [XMLElement("blocklist", namespace: namespace)])
  }

  /// The request to block (§3.3).
  public static func block(_ jids: [JID]) -> IQ { change("block", jids) }

  /// The request to unblock (§3.4).
  public static func unblock(_ jids: [JID]) -> IQ { change("unblock", jids) }

  /// The request to unblock all addresses (§3.5).
  public static func unblockAll() -> IQ { change("unblock", []) }

  private static func change(_ what: String, _ jids: [JID]) -> IQ {
    let items = jids.map { XMLElement("item", namespace: namespace, attributes: ["jid": $0.description]) }
    return IQ(type: .set, payload: [XMLElement(what, namespace: namespace, children: items)])
  }

  /// Applies a push.
  public mutating func apply(_ push: Push) {
    switch push {
    case .block(let new): for jid in new where jids.count < Self.maximumEntries { jids.insert(jid) }
    case .unblock(let old): jids.subtract(old)
    case .unblockAll: jids = []
    }
  }

  /// Whether a JID is blocked, by the JID itself, its bare form or its domain (§2).
  public func blocks(_ jid: JID) -> Bool {
    jids.contains(jid) || jids.contains(jid.bare)
      || jids.contains { $0.local == nil && $0.domain == jid.domain && $0.resource == nil }
  }

  /// Acknowledges valid pushes from the account's server.
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
