extension FailureDetail {
  /// Details about authentication, for the cases of `SASLError`.
  public enum Authentication: String, CaseIterable, Sendable {
    case noneOffered, noUsableForPassword, noUsableForToken, noUsableForCertificate, noUsableForAnonymous
    case tokenWithoutTLS, passwordWithoutTLS, passwordBesideSCRAM
    case needsCertificate, weaker, offerChanged, passwordCharacters, userCharacters, tokenCharacters
    case keysOutdated, keysUnusable, passwordUnproved, tokenUnproved, wrongSignature, wrongProof

    public var sentence: Sentence {
      switch self {
      case .noneOffered: Sentence("the server offers no mechanism", "服务器没有提供认证机制")
      case .noUsableForPassword:
        Sentence(
          "no usable mechanism for a password: the server offers {1}", "没有可用于密码的认证机制：服务器提供 {1}")
      case .noUsableForToken:
        Sentence(
          "no usable mechanism for a token: the server offers {1}", "没有可用于令牌的认证机制：服务器提供 {1}")
      case .noUsableForCertificate:
        Sentence(
          "no usable mechanism for a certificate: the server offers {1}", "没有可用于证书的认证机制：服务器提供 {1}")
      case .noUsableForAnonymous:
        Sentence(
          "no usable mechanism for an anonymous login: the server offers {1}", "没有可用于匿名登录的认证机制：服务器提供 {1}")
      case .tokenWithoutTLS:
        Sentence("{1} would send the token without TLS", "{1} 会在没有 TLS 的情况下发送令牌")
      case .passwordWithoutTLS:
        Sentence("{1} would send the password without TLS", "{1} 会在没有 TLS 的情况下发送密码")
      case .passwordBesideSCRAM:
        Sentence(
          "{1} would reveal the password to a server that supports SCRAM: {2}",
          "{1} 会向支持 SCRAM 的服务器暴露密码：{2}")
      case .needsCertificate:
        Sentence(
          "{1} needs the certificate of the TLS connection, but there is no TLS",
          "{1} 需要 TLS 所出示的证书：没有 TLS")
      case .weaker:
        Sentence(
          "downgrade: this server supported {1} before, but now offers at most {2}: {3}",
          "降级：该服务器此前支持 {1}，现在提供的最强机制是 {2}：{3}")
      case .offerChanged:
        Sentence(
          "downgrade: the mechanisms or channel bindings that the server offers were changed in transit",
          "降级：服务器提供的机制或通道绑定在传输途中被改动")
      case .passwordCharacters:
        Sentence(
          "the password is empty or contains a character that SASLprep forbids",
          "密码为空，或含有 SASLprep 禁止的字符")
      case .userCharacters:
        Sentence(
          "the user name is empty or contains a character that SASLprep forbids",
          "用户名为空，或含有 SASLprep 禁止的字符")
      case .tokenCharacters:
        Sentence(
          "the token is empty or contains a character that is not allowed in tokens", "令牌为空，或含有令牌中不允许的字符")
      case .keysOutdated:
        Sentence(
          "the stored keys no longer match the server: the password is needed",
          "存储的密钥已不适用于该服务器：需要密码")
      case .keysUnusable:
        Sentence(
          "the stored keys do not match the mechanisms of the server: the password is needed",
          "存储的密钥不适用于服务器提供的机制：需要密码")
      case .passwordUnproved:
        Sentence("the server has not proved that it knows the password", "服务器没有证明它知道密码")
      case .tokenUnproved:
        Sentence("the server has not proved that it knows the token", "服务器没有证明它知道令牌")
      case .wrongSignature:
        Sentence("the server's signature is wrong: it does not know the password", "服务器的签名错误：它不知道密码")
      case .wrongProof:
        Sentence("the server's proof is wrong: it does not know the token", "服务器的证明错误：它不知道令牌")
      }
    }
  }
}
