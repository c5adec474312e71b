import XMPPStanza
import XMPPXML

// Binds a resource on an authenticated stream (RFC 6120 §7), inline where the server supports it.

extension StreamNegotiator {
  /// Requests the resumption of the existing session once, then a new one.
  mutating func requestSession() -> Output {
    guard let request = resumption?.resumption else { return requestBinding() }
    resumption = nil
    owed.append(.resumption)
    return .element(request)
  }

  /// Handles a resumption: no resource is bound.
  mutating func resumed(_ element: XMLElement) throws(XMPPError) -> [Action] {
    guard var login, let resuming = configuration.resuming, element["previd"] ?? resuming.id == resuming.id
    else { throw unexpected(element) }
    if owed.first == .resumption { owed.removeFirst() }
    login.jid = resuming.jid
    login.resumption = .resumed(element)
    login.features = features
    return end(with: .bound(login))
  }

  private mutating func requestBinding() -> Output {
    owed.append(.binding)
    var bind = XMLElement("bind", namespace: Namespaces.bind)
    if let resource = configuration.resource ?? configuration.userAgent?.resource {
      bind.children = [.element(XMLElement("resource", namespace: Namespaces.bind, text: resource))]
    }
    return .element(
      XMLElement(
        "iq", namespace: Namespaces.client, attributes: ["type": "set", "id": configuration.bindID],
        children: [bind]))
  }

  mutating func receivedResult(_ element: XMLElement) throws(XMPPError) -> [Action] {
    let isBinding = owed.first == .binding
    let wanted = isBinding ? configuration.bindID : configuration.sessionID
    guard let iq = IQ(element), iq.id == wanted, isOfOwnServer(iq.from) else { throw unexpected(element) }
    if let error = iq.error { throw XMPPError(bindError: error) }
    guard iq.type == .result else { throw unexpected(element) }
    owed.removeFirst()
    if isBinding {
      let jid = try boundJID(element.first("bind", Namespaces.bind)?.first("jid")?.text)
      login?.jid = jid
      if features?.requiresSession == true { return [establishSession()] }
    }
    guard var login else { throw unexpected(element) }
    login.features = features
    return end(with: .bound(login))
  }

  /// Whether an answer to a request to the own server comes from it (RFC 6120 §8.1.2.1): older servers use their
  /// domain, or the bound JID even if it differs from the account's.
  private func isOfOwnServer(_ from: JID?) -> Bool {
    guard let from else { return true }
    if from.description == configuration.jid.domain { return true }
    return from.domain == configuration.jid.domain
      && (configuration.credentials.isAnonymous || from.local == configuration.jid.local
        || from.local == configuration.credentials.authcid)
  }

  /// The server may choose the resource (RFC 6120 §7.7.1) but not the account, except in an anonymous login.
  func boundJID(_ text: String?) throws(XMPPError) -> JID {
    guard let text, let jid = try? JID(text), !jid.isBare else {
      throw XMPPError(.protocolError, stage: .bind, .says(.noFullJID))
    }
    try checkOwner(jid)
    return jid
  }

  /// Throws where an authorization identity belongs to another account.
  func checkOwner(_ name: String) throws(XMPPError) {
    guard let jid = try? JID(name) else {
      throw XMPPError(.protocolError, stage: .bind, .says(.loggedInNobody, String(name.prefix(64))))
    }
    try checkOwner(jid)
  }

  private func checkOwner(_ jid: JID) throws(XMPPError) {
    let isOurs =
      configuration.credentials.isAnonymous
      ? jid.domain == configuration.jid.domain : jid.bare == configuration.jid.bare
    guard isOurs else {
      // A login with another authentication name may have led to that name's account.
      let credentials = configuration.credentials
      if credentials.authcid != configuration.jid.local || credentials.hasCertificate {
        throw XMPPError(
          .authFailed, stage: .authenticate,
          .says(.loggedInOther, jid.bare, configuration.jid.bare))
      }
      throw XMPPError(
        .protocolError, stage: .bind, .says(.boundOther, jid.bare))
    }
  }

  /// Servers of RFC 3921 require a session before they route stanzas.
  private mutating func establishSession() -> Action {
    owed.append(.session)
    return write([
      .element(
        XMLElement(
          "iq", namespace: Namespaces.client, attributes: ["type": "set", "id": configuration.sessionID],
          children: [XMLElement("session", namespace: Namespaces.session)]))
    ])
  }
}
