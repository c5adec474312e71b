import AgentProtocol
import FoundationEssentials
import NIOCore
import XMPP
import XMPPStanza
import XMPPTransport

// XMPP has no request that purges an archive; ejabberd's HTTP API has one.

extension Session {
  /// Removes the messages of a conversation from the account's archive through ejabberd's API, with the account's
  /// credentials.
  ///
  /// - Parameters:
  /// - peer: the other side of the conversation.
  /// - url: the URL of the API; empty for ejabberd's default.
  func purgeArchive(of peer: String, at url: String, timeout: TimeAmount) async throws(Failure) {
    let base = url.isEmpty ? "https://\(account.domain):5443/api" : url
    let slash = base.hasSuffix("/") ? "" : "/"
    guard var request = HTTPSRequest(url: base + slash + "remove_mam_for_user_with_peer") else {
      throw Failure(
        .invalidParameter, stage: .input, detail: .session(.notHTTPS, base))
    }
    let entry = try await accounts.entry(account)
    guard let password = online?.plan.credential.password ?? entry?.password else {
      throw Failure(
        .invalidParameter, stage: .input, detail: .login(.noPasswordForAPI, account))
    }
    let arguments = ["user": account.local ?? "", "server": account.domain, "with": peer]
    request.user = account.description
    request.password = password.value
    request.body = Array((try? JSONEncoder().encode(arguments)) ?? Data())
    let options = online?.plan.options ?? entry?.options
    let answer: HTTPSRequest.Answer
    do throws(TransportError) {
      answer = try await request.send(
        TLSConfiguration(domain: request.host, caFile: options?.caFile, alpn: ["http/1.1"]), timeout: timeout)
    } catch {
      let failure = Failure(XMPPError(transportError: error))
      throw Failure(
        failure.name, stage: failure.stage,
        detail: .session(.api, base, failure.detail ?? .failure(failure)))
    }
    guard answer.status != 200 else { return }
    // The condition that corresponds to the status, if any.
    let condition: StanzaError.Condition? =
      switch answer.status {
      case 401: .notAuthorized
      case 403: .forbidden
      default: nil
      }
    throw Failure(
      .stanzaError, stage: .request, detail: .session(.status, request.host, answer.status),
      condition: condition?.rawValue)
  }
}
