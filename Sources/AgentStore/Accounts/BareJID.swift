import AgentProtocol
import XMPPStanza

/// The key of all data of an account: its normalised bare JID (RFC 7622 §3).
package enum BareJID {
  /// The normalised bare JID for any spelling; a resource is dropped.
  package static func normalise(_ spelling: String) throws(Failure) -> String { try parts(spelling).bare }

  /// The account for an e-mail address at a domain: `user@mail.example` is `user\40mail.example@domain` (XEP-0106).
  package static func ofEmail(_ address: String, at domain: String) throws(Failure) -> String {
    do {
      return try JID(local: JIDEscaping.escape(address), domain: domain).description
    } catch {
      throw Failure(.invalidParameter, stage: .input, detail: .about(address, FailureDetail(error)))
    }
  }

  package static func parts(_ spelling: String) throws(Failure) -> (bare: String, domain: String) {
    let jid = try JID(given: spelling).bare
    return (jid.description, jid.domain)
  }
}

extension JID {
  /// Parses a JID given by the user. Throws `invalidParameter` for an invalid one.
  package init(given text: String) throws(Failure) {
    do { self = try JID(text) } catch {
      throw Failure(.invalidParameter, stage: .input, detail: .about(text, FailureDetail(error)))
    }
  }
}

extension FailureDetail {
  /// Describes why a text is not a valid JID.
  package init(_ error: JIDError) {
    guard let sentence = error.sentence, let key = Key(name: "address.\(sentence.rawValue)") else {
      self = .text(error.message)
      return
    }
    let part: FailureDetail? =
      switch error.part {
      case .local: .address(.localPart)
      case .domain: .address(.domainPart)
      case .resource: .address(.resourcePart)
      case nil: nil
      }
    self = .sentence(key, [part].compactMap(\.self) + error.arguments.map(FailureDetail.text))
  }
}
