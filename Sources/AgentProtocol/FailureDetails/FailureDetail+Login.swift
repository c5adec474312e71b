extension FailureDetail {
  /// Details about credentials: passwords, tokens, the commands that print them, and the options of a login.
  public enum Login: String, CaseIterable, Sendable {
    case encodedTwice, oneSegment, segments, headerEncoding, claimsEncoding, signatureEncoding
    case headerSyntax, claimsSyntax, expirySyntax, blanksInToken, expired, destination
    case noToken, givenTokenUsed, outputSyntax, tokenOfAnother, outputExpirySyntax, outputNoToken,
      noTokenStored
    case noPasswordStored, noCurrentPassword, noPasswordForAPI, nothingStored
    case needsSecret, takesNoPassword, takesNoToken, takesNoCertificate, refusedPolicy, policyNeedsCommand
    case onlyDomain, noLocalPart, noUserName, fingerprintSyntax, extensionTooLong
    case proxyCommandNeedsProxy, proxyCommandNeedsUser
    case tokenRefused, documentRefused, platformRefused
    case noMechanismForToken, noMechanismForTokenBesideSCRAM
    case noMechanismForDocument, noMechanismForDocumentBesideSCRAM
    case openQuote, emptyCommand, noSuchCommand, cannotRun, exitStatus, signal, noOutput, notUTF8,
      tooMuchOutput

    public var sentence: Sentence {
      switch self {
      case .encodedTwice:
        Sentence("it is base64-encoded once more: decode it first", "它又经过了一次 base64 编码：请先解码")
      case .oneSegment: Sentence("it has 1 segment; a JWT has 3", "它只有 1 段，JWT 应有 3 段")
      case .segments: Sentence("it has {1} segments; a JWT has 3", "它有 {1} 段，JWT 应有 3 段")
      case .headerEncoding: Sentence("its header is not base64url", "其头部不是 base64url 编码")
      case .claimsEncoding: Sentence("its claims are not base64url", "其声明不是 base64url 编码")
      case .signatureEncoding: Sentence("its signature is not base64url", "其签名不是 base64url 编码")
      case .headerSyntax: Sentence("its header is not a JSON object", "其头部不是 JSON 对象")
      case .claimsSyntax: Sentence("its claims are not a JSON object", "其声明不是 JSON 对象")
      case .expirySyntax: Sentence("its claim exp is not a number", "其声明 exp 不是数字")
      case .blanksInToken: Sentence("it contains blanks or control characters", "其中含有空白或控制字符")
      case .expired: Sentence("it expired at {1}", "已于 {1} 过期")
      case .destination: Sentence("the token says: {1}", "令牌中写明：{1}")
      case .noToken:
        Sentence("the token command printed no token, and there is no other token", "令牌命令没有给出令牌，也没有其他令牌")
      case .givenTokenUsed:
        Sentence("the token command printed no token: the given token is used", "令牌命令没有给出令牌：使用所给的令牌")
      case .outputSyntax:
        Sentence(
          #"not the JSON object {"token","expires","jid"}"#, #"不是 JSON 对象 {"token","expires","jid"}"#)
      case .tokenOfAnother: Sentence("a token for another JID", "令牌属于另一个 JID")
      case .outputExpirySyntax: Sentence(#""expires" is not an RFC 3339 time"#, #""expires" 不是 RFC 3339 时间"#)
      case .outputNoToken: Sentence("the output is not a token", "输出的内容不是令牌")
      case .noTokenStored: Sentence("no token is stored for {1}", "没有为 {1} 存储令牌")
      case .noPasswordStored:
        Sentence(
          "no password is stored for {1}: give one with --password-stdin",
          "没有为 {1} 存储密码：请用 --password-stdin 给出")
      case .noCurrentPassword:
        Sentence(
          "no password is stored for {1}: give the current one with --password-stdin",
          "没有为 {1} 存储密码：请用 --password-stdin 给出当前密码")
      case .noPasswordForAPI:
        Sentence("no password is stored for {1}, but the API needs it", "没有为 {1} 存储密码，而 API 需要密码")
      case .nothingStored: Sentence("no credentials are stored for {1}", "没有存储 {1} 的登录凭据")
      case .needsSecret: Sentence("--auth {1} requires credentials", "--auth {1} 缺少登录凭据")
      case .takesNoPassword: Sentence("--auth {1} takes no password", "--auth {1} 不接受密码")
      case .takesNoToken: Sentence("--auth {1} takes no token", "--auth {1} 不接受令牌")
      case .takesNoCertificate: Sentence("--auth {1} takes no certificate", "--auth {1} 不接受证书")
      case .refusedPolicy:
        Sentence("--store {1} cannot be used with --auth {2}", "--store {1} 不能用于 --auth {2}")
      case .policyNeedsCommand:
        Sentence(
          "--store command requires --password-command or --token-command",
          "--store command 需要 --password-command 或 --token-command")
      case .onlyDomain:
        Sentence("--auth anonymous takes only a domain: {1}", "--auth anonymous 只需要域名：{1}")
      case .noLocalPart:
        Sentence("a JID for logging in needs a local part: {1}", "用于登录的 JID 须有 @ 之前的部分：{1}")
      case .noUserName: Sentence("no user name before the @: {1}", "@ 之前没有用户名：{1}")
      case .fingerprintSyntax: Sentence("a SHA-256 has 64 hexadecimal digits", "SHA-256 应为 64 位十六进制数字")
      case .extensionTooLong:
        Sentence(
          "the login extension has {1} UTF-16 units; at most 1024 are allowed",
          "登录扩展有 {1} 个 UTF-16 单元，最多 1024 个")
      case .proxyCommandNeedsProxy:
        Sentence("--proxy-password-command needs --proxy", "--proxy-password-command 需要 --proxy")
      case .proxyCommandNeedsUser:
        Sentence(
          "--proxy-password-command needs a user name in --proxy",
          "--proxy-password-command 需要 --proxy 中有用户名")
      case .tokenRefused: Sentence("the token or the login extension was refused", "令牌或登录扩展被拒绝")
      case .documentRefused: Sentence("the document was refused", "凭据文档被拒绝")
      case .platformRefused:
        Sentence(
          "the limit is 0 for platform {1}: imctl devices policy --limit {1}=any",
          "平台 {1} 的设备数上限为 0：imctl devices policy --limit {1}=any")
      case .noMechanismForToken:
        Sentence(
          "no usable mechanism for the token: the server offers {1}", "没有可用于令牌的认证机制：服务器提供 {1}")
      case .noMechanismForTokenBesideSCRAM:
        Sentence(
          "no usable mechanism for the token: the server offers {1}; PLAIN is not used if the server offers SCRAM",
          "没有可用于令牌的认证机制：服务器提供 {1}；有 SCRAM 时不使用 PLAIN")
      case .noMechanismForDocument:
        Sentence(
          "no usable mechanism for the document: the server offers {1}",
          "没有可用于凭据文档的认证机制：服务器提供 {1}")
      case .noMechanismForDocumentBesideSCRAM:
        Sentence(
          "no usable mechanism for the document: the server offers {1}; PLAIN is not used if the server offers SCRAM",
          "没有可用于凭据文档的认证机制：服务器提供 {1}；有 SCRAM 时不使用 PLAIN")
      case .openQuote: Sentence("a quote in the command is not closed", "命令中的引号没有闭合")
      case .emptyCommand: Sentence("the command is empty", "命令为空")
      case .noSuchCommand: Sentence("no such command", "没有此命令")
      case .cannotRun: Sentence("cannot be run", "无法运行")
      case .exitStatus: Sentence("exit status {1}", "退出状态 {1}")
      case .signal: Sentence("signal {1}", "信号 {1}")
      case .noOutput: Sentence("no output", "没有输出")
      case .notUTF8: Sentence("not UTF-8", "不是 UTF-8")
      case .tooMuchOutput: Sentence("more than {1} octets of output", "输出超过 {1} 字节")
      }
    }
  }
}
