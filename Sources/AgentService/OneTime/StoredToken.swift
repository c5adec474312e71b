import AgentProtocol
import AgentStore
import XMPPSASL

/// A stored token and its description for the user.
struct StoredToken {
  let summary: TokenSummary
  let secret: Secret

  /// The stored tokens of an account; the one that is used first comes first.
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
