import AgentProtocol
import AgentStore
import AgentSystem
import XMPPSASL

extension LoginPlan {
  /// This plan with a newly printed secret, bare or as `{"token":…,"expires":…,"jid":…}`; nil where none was printed.
  ///
  /// Throws `credentialSourceFailed` for output that is not a token.
  package func renewed(with printed: String) throws(Failure) -> LoginPlan? {
    var plan = self
    plan.isRenewed = true
    plan.isGiven = true
    plan.checksLastLogin = false
    plan.needsFreshToken = false
    plan.refused = nil
    plan.deviceToken = nil
    plan.expiredToken = nil
    plan.scramKeys = []
    let isObject = printed.drop(while: \.isWhitespace).hasPrefix("{")
    if credential.kind.usesPassword, credential.kind != .function, !isObject {
      let line = printed.prefix { !$0.isNewline }
      guard !line.isEmpty else { return nil }
      plan.credential.password = Secret(String(line))
      return plan
    }
    if credential.kind == .function {
      guard isObject else { return nil }
      plan.credential.password = Secret(printed)
      return plan
    }
    let issued: IssuedToken?
    do throws(IssuedToken.Garbage) {
      issued = try IssuedToken(printed: printed, for: account.description)
    } catch {
      throw Failure(.credentialSourceFailed, stage: .authenticate, detail: error.reason)
    }
    guard let issued else { return nil }
    if credential.kind.usesPassword {
      plan.credential.password = issued.token
    } else if credential.kind.usesToken {
      plan.credential.token = issued
      plan.credential.issued = nil
      if credential.tokenCommand != nil { plan.tokenAnswer = printed }
    } else {
      return nil
    }
    return plan
  }

  /// Chooses a resource that no other client has: the old one with another ending.
  package mutating func chooseOtherResource() {
    var base = options.resource ?? "imctl"
    let ending = base.suffix(5)
    if ending.first == "-", ending.dropFirst().allSatisfy(\.isHexDigit), base.count > 5 { base.removeLast(5) }
    let digits = String(UInt16.random(in: .min ... .max), radix: 16)
    options.resource = base + "-" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
