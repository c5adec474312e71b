import AgentProtocol
import XMPPStanza

/// The key of everything that belongs to an account: its normalised bare JID (RFC 7622 §3).
public enum BareJID {
  /// The one spelling of the bare JID that `spelling` means; a resource is left out.
  public static func normalise(_ spelling: String) throws(Failure) -> String { try parts(spelling).bare }

  /// The account of an e-mail address at a domain: `user@mail.example` is `user\40mail.example@domain` (XEP-0106).
  public static func ofEmail(_ address: String, at domain: String) throws(Failure) -> String {
    do {
      return try JID(local: JIDEscaping.escape(address), domain: domain).description
    } catch {
      throw Failure(.invalidParameter, stage: .input, detail: "\(address): \(error.message)")
    }
  }

  static func parts(_ spelling: String) throws(Failure) -> (bare: String, domain: String) {
    do {
      let jid = try JID(spelling).bare
      return (jid.description, jid.domain)
    } catch {
      throw Failure(.invalidParameter, stage: .input, detail: "\(spelling): \(error.message)")
    }
  }
}
