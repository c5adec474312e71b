import NIOCore
import XMPP
import XMPPStanza
import XMPPTransport
import XMPPXML

/// A node of the own account that only the account can access (XEP-0223), for data that its devices share.
///
///     let node = PrivateNode("urn:xmpp:mds:displayed:0")
///     let account = try await ServiceDiscovery.ask(bound.jid.bare, on: stream)
///     try await node.publish(.init("romeo@montague.example", payload), on: stream, of: account)
///     for item in try await node.items(on: stream) { … }
///
/// Devices whose capabilities contain ``notification`` receive changes as ``PubSub/Event``. Some servers send an event
/// twice, and some send none for retractions.
public struct PrivateNode: Hashable, Sendable {
  public let name: String

  public init(_ name: String) { self.name = name }

  /// The feature of a device that wants to receive changes.
  public var notification: String { PubSub.notify(name) }

  /// Whether the own account can have private nodes. A server that ignores publish-options would show the items to all
  /// contacts.
  public static func isOffered(in account: ServiceDiscovery) -> Bool {
    account.features.contains(PubSub.publishOptions)
  }

  /// The minimal conditions of a publication: others have no access, and the server stores the item.
  private static let conditions: KeyValuePairs = [
    "pubsub#persist_items": "true", "pubsub#access_model": "whitelist",
  ]
  private static let options: KeyValuePairs = [
    "pubsub#persist_items": "true", "pubsub#max_items": "max",
    "pubsub#send_last_published_item": "never", "pubsub#access_model": "whitelist",
  ]
  /// The configuration of an existing node, which also has to enable notifications of retractions.
  private static let configuration: KeyValuePairs = [
    "pubsub#persist_items": "true", "pubsub#max_items": "max", "pubsub#notify_retract": "true",
    "pubsub#send_last_published_item": "never", "pubsub#access_model": "whitelist",
  ]

  // MARK: Requests

  /// The request to publish an item on the condition that no one else has access (XEP-0060 §7.1.5). It creates a
  /// missing node.
  public func publication(of item: PubSub.Item) -> IQ { publication(of: item, Self.options) }

  private func publication(of item: PubSub.Item, _ options: KeyValuePairs<String, String>) -> IQ {
    let publication = XMLElement(
      "publish", namespace: PubSub.namespace, attributes: ["node": name], children: [item.element])
    let options = XMLElement(
      "publish-options", namespace: PubSub.namespace,
      children: [PubSub.form(PubSub.publishOptions, options)])
    return PubSub.iq(.set, [publication, options])
  }

  /// The request to make an existing node private (XEP-0060 §8.2).
  private func configuration() -> IQ {
    let form = PubSub.form(PubSub.namespace + "#node_config", Self.configuration)
    let configuration = XMLElement(
      "configure", namespace: PubSub.ownerNamespace, attributes: ["node": name], children: [form])
    return PubSub.iq(.set, [configuration], namespace: PubSub.ownerNamespace)
  }

  /// The request to remove items and to notify the other devices (XEP-0060 §7.2).
  public func retraction(of ids: [String]) -> IQ {
    let items = ids.map { PubSub.Item($0).element }
    return PubSub.iq(
      .set,
      [
        XMLElement(
          "retract", namespace: PubSub.namespace, attributes: ["node": name, "notify": "true"],
          children: items)
      ])
  }

  // MARK: With a stream

  /// Publishes an item, which replaces the one with its id. A node that others can access is made private first.
  ///
  /// - Parameter account: The features of the own account.
  /// - Throws: `stanzaError` with `feature-not-implemented`, before anything is sent, if the server would not keep the
  ///   item private; `stanzaError` if it refuses; `networkError` without an answer.
  public func publish(
    _ item: PubSub.Item, on stream: some RequestStream, of account: ServiceDiscovery?,
    timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) {
    guard let account, Self.isOffered(in: account) else {
      throw XMPPError(
        .stanzaError, stage: .request, .says(.notPrivate),
        condition: StanzaError.Condition.featureNotImplemented.rawValue)
    }
    guard try await stream.request(publication(of: item), timeout: timeout).error != nil else { return }
    var error = try await configureAndPublish(item, on: stream, timeout: timeout)
    for pause in Self.pauses {
      guard let condition = error?.condition, Self.conditionsOfContention.contains(condition) else { break }
      try? await Task.sleep(for: pause)
      error = try await configureAndPublish(item, on: stream, timeout: timeout)
    }
    if let error { throw refusal(error) }
  }

  /// The conditions with which some servers refuse an item while another device creates the same node.
  private static let conditionsOfContention: Set<StanzaError.Condition> = [
    .itemNotFound, .conflict, .internalServerError,
  ]
  /// The pauses before further attempts.
  private static let pauses: [Duration] = [.milliseconds(100), .milliseconds(500), .seconds(2)]

  /// Publishes to an existing node with another configuration, or on a server that does not support all conditions.
  ///
  /// Returns the error if the item was refused.
  private func configureAndPublish(
    _ item: PubSub.Item, on stream: some RequestStream, timeout: TimeAmount
  ) async throws(XMPPError) -> StanzaError? {
    // A missing node is created by the publication, after which its configuration is completed.
    let requests = [configuration(), publication(of: item, Self.conditions), configuration()]
    let answers = try await stream.exchange(requests.map { $0.withID.element }, timeout: timeout)
    if let error = try answers.dropFirst().first?.get().error { return error }
    guard try answers.first?.get().error?.condition == .itemNotFound else { return nil }
    // The node is new. Some servers let another device replace it at the same time, and lose the item.
    try? await Task.sleep(for: .milliseconds(100))
    let isThere = try await !items([item.id], on: stream, timeout: timeout).isEmpty
    return isThere ? nil : StanzaError(.itemNotFound)
  }

  /// The items with these ids, or all items, up to ``PubSub/maximumItems``; empty if the node does not exist.
  ///
  /// - Parameter timeout: The time limit of each page.
  public func items(
    _ ids: [String]? = nil, on stream: some RequestStream, timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) -> [PubSub.Item] {
    try await items(ids, by: PubSub.pageSize, on: stream, timeout: timeout)
  }

  func items(
    _ ids: [String]? = nil, by pageSize: Int, on stream: some RequestStream,
    timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) -> [PubSub.Item] {
    var items: [PubSub.Item] = []
    var known: Set<String> = []
    var position: String?
    while items.count < PubSub.maximumItems {
      let answer = try await stream.request(
        ItemsPage.request(name, ids: ids, after: position, maximum: pageSize), timeout: timeout)
      if answer.error?.condition == .itemNotFound { break }
      if let error = answer.error { throw refusal(error) }
      guard let page = ItemsPage(answer, node: name) else {
        throw XMPPError(.protocolError, stage: .request, .says(.unusableItems))
      }
      let new = page.items.filter { known.insert($0.id).inserted }
      items += new
      // A page without new items would lead to an endless loop.
      guard ids == nil, let next = page.next, next != position, !new.isEmpty,
        page.count.map({ items.count < $0 }) ?? true
      else { break }
      position = next
    }
    return Array(items.prefix(PubSub.maximumItems))
  }

  /// Removes items; a missing item is not an error.
  public func retract(
    _ ids: [String], on stream: some RequestStream, timeout: TimeAmount = .seconds(30)
  ) async throws(XMPPError) {
    // Some servers accept only one item in a request.
    let answers = try await stream.exchange(
      ids.map { retraction(of: [$0]).withID.element }, timeout: timeout)
    for answer in answers {
      if let error = try answer.get().error, error.condition != .itemNotFound { throw refusal(error) }
    }
  }

  private func refusal(_ error: StanzaError) -> XMPPError {
    XMPPError(
      .stanzaError, stage: .request, .says(.refused, error.condition.rawValue),
      condition: error.condition.rawValue, text: error.text)
  }
}
