import AgentProtocol
import AgentStore
import XMPPSASL

/// A token that is stored, with what is told of it.
struct StoredToken {
  let summary: TokenSummary
  let secret: Secret

  /// What is stored of an account, the token that logs in first.
  static func all(of account: Account, at now: Double) -> [StoredToken] {
    let credential = account.credential
    var tokens: [StoredToken] = []
    for (use, token) in [(TokenSummary.Use.issued, credential.issued), (.given, credential.token)] {
      guard let token else { continue }
      let summary = TokenSummary(
        account: account.account, use: use, auth: credential.kind, mechanism: nil, expires: token.end,
        expired: token.isOver(at: now))
      tokens.append(StoredToken(summary: summary, secret: token.token))
    }
    if let token = account.token {
      let summary = TokenSummary(
        account: account.account, use: .device, auth: credential.kind, mechanism: token.mechanism,
        expires: token.expiry, expired: token.isExpired(at: now))
      tokens.append(StoredToken(summary: summary, secret: token.secret))
    }
    return tokens
  }
}
