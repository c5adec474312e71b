import AgentProtocol
import XMPP
import XMPPFeatures
import XMPPStanza

// Profiles of users, requested over the session.

extension ServerQueries {
  package func profile(_ parameters: ProfileGetMethod.Parameters) async throws(Failure) -> Profile {
    var jid: JID?
    if let text = parameters.jid { jid = try JID(given: text) }
    let server = try await conversation(for: ServerQuestion(account: nil, timeout: parameters.timeout))
    return Profile(jid ?? context.account, try await server.card(of: jid == context.account ? nil : jid))
  }

  package func changeProfile(_ parameters: ProfileSetMethod.Parameters) async throws(Failure) -> Profile {
    let server = try await conversation(for: ServerQuestion(account: nil, timeout: parameters.timeout))
    var card = try await server.card(of: nil)
    for (name, text) in parameters.fields {
      guard let field = VCard.Field(rawValue: name) else {
        throw Failure(.invalidParameter, stage: .input, detail: .session(.unknownField, name))
      }
      card[field] = text.isEmpty ? nil : text
    }
    _ = try await server.ask(card.publication)
    // Not every server stores all fields.
    return Profile(context.account, try await server.card(of: nil))
  }
}

extension ServerConversation {
  /// - Parameter jid: nil for the own account.
  fileprivate func card(of jid: JID?) async throws(Failure) -> VCard {
    let answer = try await answer(to: VCard.request(jid))
    guard let card = VCard(answer) else {
      throw Failure(
        .stanzaError, stage: .request, detail: .text(jid?.description ?? "profile"),
        condition: answer.error?.condition.rawValue, text: answer.error?.text)
    }
    return card
  }
}

extension Profile {
  fileprivate init(_ jid: JID, _ card: VCard) {
    let fields = VCard.Field.allCases.compactMap { field in card[field].map { (field.rawValue, $0) } }
    self.init(jid: jid.description, fields: Dictionary(uniqueKeysWithValues: fields))
  }
}
