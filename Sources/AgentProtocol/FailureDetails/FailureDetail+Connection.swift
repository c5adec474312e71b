extension FailureDetail {
  /// Details about connections, TLS, certificates and proxies, for the cases of `TransportError`.
  public enum Connection: String, CaseIterable, Sendable {
    case selfSigned, selfSignedInChain, unknownIssuer
    case notPinned, otherDomain, issuerNotCA, certificateExpired, certificateNotYetValid
    case certificateRefused, openSSLSetup, openSSLMemory, unusableDomain, handshakeIncomplete
    case tlsFailed, tlsNotOpen, closedInHandshake, noTLS, oldTLS, handshakeFailed, fingerprintLength
    case protocolNameLength, protocolNames, unusableCAFile, otherKey, unusableKey, noCertificate
    case unusableCertificate, readableKey, encryptedKey, noKey, unreadableCertificate, unreadableKey
    case notRegularFile, lookupCancelled, noService, noPort, tooManyFiles, endedAtOnce, failed
    case failedWith, unknownHost, lookupFailed, timedOut, answerTimedOut, attemptCancelled, broke
    case proxySyntax, proxyPassword, proxyPath, proxyUser, proxyHost, proxyTarget, proxyCredentials
    case proxyTimedOut, proxyClosed, proxyUnasked, proxyAnswerTooLong, proxyAnswered, proxyRefused
    case proxyWantsPassword, proxyTakesNoPassword, notSOCKS, notHTTPProxy, socksFailure
    case socksNotAllowed, socksNetwork, socksHost, socksRefused, socksTTL, socksCommand
    case socksAddress, socksOther

    public var sentence: Sentence {
      switch self {
      case .selfSigned: Sentence("self-signed certificate", "自签名证书")
      case .selfSignedInChain: Sentence("self-signed certificate in certificate chain", "证书链中有自签名证书")
      case .unknownIssuer: Sentence("unable to get local issuer certificate", "无法找到其签发者的证书")
      case .notPinned: Sentence("it is not the pinned one", "它不是所固定的证书")
      case .otherDomain: Sentence("it is not for this domain", "它不是为该域名签发的")
      case .issuerNotCA:
        Sentence("it is issued by a certificate that is not a CA certificate", "签发它的证书不是 CA 证书")
      case .certificateExpired: Sentence("certificate has expired", "证书已过期")
      case .certificateNotYetValid: Sentence("certificate is not yet valid", "证书尚未生效")
      case .certificateRefused:
        Sentence("The certificate of {1} is refused: {2}. {3}", "{1} 的证书被拒绝：{2}。{3}")
      case .openSSLSetup: Sentence("OpenSSL cannot be set up: {1}", "无法初始化 OpenSSL：{1}")
      case .openSSLMemory: Sentence("OpenSSL is out of memory.", "OpenSSL 内存不足。")
      case .unusableDomain:
        Sentence("The domain cannot be requested with SNI: {1}", "无法通过 SNI 请求该域名：{1}")
      case .handshakeIncomplete: Sentence("The TLS handshake is not complete.", "TLS 握手尚未完成。")
      case .tlsFailed: Sentence("TLS failed: {1}", "TLS 出错：{1}")
      case .tlsNotOpen: Sentence("The TLS connection is not open.", "TLS 连接没有打开。")
      case .closedInHandshake:
        Sentence("The server closed the connection during the TLS handshake.", "服务器在 TLS 握手期间关闭了连接。")
      case .noTLS:
        Sentence(
          "The TLS handshake failed: the server does not answer with TLS; its port may be for STARTTLS.",
          "TLS 握手失败：服务器没有以 TLS 应答；其端口可能用于 STARTTLS。")
      case .oldTLS:
        Sentence(
          "The TLS handshake failed: the server supports no current TLS version ({1}).",
          "TLS 握手失败：服务器不支持现行的 TLS 版本（{1}）。")
      case .handshakeFailed: Sentence("The TLS handshake failed: {1}.", "TLS 握手失败：{1}。")
      case .fingerprintLength:
        Sentence(
          "A SHA-256 digest has 32 octets; the pinned one has {1}.",
          "SHA-256 摘要应为 32 字节，所固定的摘要为 {1} 字节。")
      case .protocolNameLength:
        Sentence("An ALPN protocol name has 1 to 255 octets.", "ALPN 协议名应为 1 至 255 字节。")
      case .protocolNames: Sentence("The ALPN protocol names cannot be used.", "ALPN 协议名无法使用。")
      case .unusableCAFile:
        Sentence("No certificate can be read from the CA file {1}: {2}", "无法从 CA 文件 {1} 读取证书：{2}")
      case .otherKey:
        Sentence(
          "The key in {1} does not belong to the client certificate in {2}.",
          "{1} 中的密钥与 {2} 中的客户端证书不匹配。")
      case .unusableKey:
        Sentence(
          "The key of the client certificate in {1} cannot be used: {2}.",
          "{1} 中的客户端证书密钥无法使用：{2}。")
      case .noCertificate:
        Sentence("The file {1} contains no certificate in PEM form.", "文件 {1} 中没有 PEM 格式的证书。")
      case .unusableCertificate:
        Sentence("The client certificate in {1} cannot be used: {2}.", "{1} 中的客户端证书无法使用：{2}。")
      case .readableKey:
        Sentence(
          "Others can read the file {1} with the key of the client certificate: run chmod 600 on it.",
          "其他用户可以读取存有客户端证书密钥的文件 {1}：请将其权限设为 600（chmod 600）。")
      case .encryptedKey:
        Sentence("The key of the client certificate in {1} is encrypted.", "{1} 中的客户端证书密钥已加密。")
      case .noKey:
        Sentence("The file {1} contains no private key in PEM form.", "文件 {1} 中没有 PEM 格式的私钥。")
      case .unreadableCertificate:
        Sentence("The file {1} with the client certificate cannot be read: {2}.", "无法读取客户端证书文件 {1}：{2}。")
      case .unreadableKey:
        Sentence(
          "The file {1} with the key of the client certificate cannot be read: {2}.",
          "无法读取客户端证书密钥文件 {1}：{2}。")
      case .notRegularFile: Sentence("not a regular file", "不是普通文件")
      case .lookupCancelled: Sentence("The lookup of {1} was cancelled.", "对 {1} 的解析已取消。")
      case .noService:
        Sentence("The domain {1} says that it has no XMPP service.", "域名 {1} 声明没有 XMPP 服务。")
      case .noPort: Sentence("There is no port {1}.", "不存在端口 {1}。")
      case .tooManyFiles:
        Sentence("Too many files are open to connect to {1}.", "打开的文件过多，无法连接 {1}。")
      case .endedAtOnce: Sentence("The connection to {1} ended immediately.", "与 {1} 的连接随即结束。")
      case .failed: Sentence("The connection to {1} failed.", "无法连接 {1}。")
      case .failedWith: Sentence("The connection to {1} failed: {2}.", "无法连接 {1}：{2}。")
      case .unknownHost: Sentence("There is no host named {1}.", "没有名为 {1} 的主机。")
      case .lookupFailed: Sentence("The host {1} cannot be looked up: {2}.", "无法解析主机 {1}：{2}。")
      case .timedOut: Sentence("No answer from {1} in time.", "{1} 未及时应答。")
      case .answerTimedOut: Sentence("{1} did not answer in time.", "{1} 没有及时应答。")
      case .attemptCancelled:
        Sentence("The attempt to connect to {1} was cancelled.", "连接 {1} 的尝试已取消。")
      case .broke: Sentence("The connection broke: {1}.", "连接中断：{1}。")
      case .proxySyntax:
        Sentence(
          "a proxy is socks5h://host:port or http://host:port",
          "代理的格式为 socks5h://主机:端口 或 http://主机:端口")
      case .proxyPassword:
        Sentence(
          "a URL must not contain a password: use --proxy-password-command",
          "URL 中不得包含密码：请使用 --proxy-password-command")
      case .proxyPath:
        Sentence("nothing may follow the host and port of a proxy", "代理的主机和端口之后不应有其他内容")
      case .proxyUser: Sentence("the proxy's user name cannot be used", "代理的用户名无法使用")
      case .proxyHost: Sentence("the proxy's host or port cannot be used", "代理的主机或端口无法使用")
      case .proxyTarget: Sentence("A proxy cannot be asked for the host {1}.", "无法通过代理连接主机 {1}。")
      case .proxyCredentials:
        Sentence(
          "user and password for a SOCKS5 proxy have at most 255 octets each",
          "SOCKS5 代理的用户名和密码各不得超过 255 字节")
      case .proxyTimedOut: Sentence("no answer from the proxy {1} in time", "代理 {1} 未及时应答")
      case .proxyClosed: Sentence("the proxy {1} closed the connection", "代理 {1} 关闭了连接")
      case .proxyUnasked:
        Sentence("the proxy {1} sent unrequested data", "代理 {1} 发送了意外的数据")
      case .proxyAnswerTooLong: Sentence("the answer of the proxy {1} is too long", "代理 {1} 的应答过长")
      case .proxyAnswered: Sentence("the proxy {1} answered: {2}", "代理 {1} 应答：{2}")
      case .proxyRefused: Sentence("the proxy {1} refused user and password", "代理 {1} 拒绝了用户名和密码")
      case .proxyWantsPassword:
        Sentence("the proxy {1} requires a user and a password", "代理 {1} 要求用户名和密码")
      case .proxyTakesNoPassword:
        Sentence("the proxy {1} does not accept a user and a password", "代理 {1} 不接受用户名和密码")
      case .notSOCKS: Sentence("the proxy {1} does not speak SOCKS5", "代理 {1} 不使用 SOCKS5")
      case .notHTTPProxy: Sentence("the proxy {1} does not speak HTTP", "代理 {1} 不使用 HTTP")
      case .socksFailure: Sentence("general failure", "一般性失败")
      case .socksNotAllowed: Sentence("not allowed", "不允许")
      case .socksNetwork: Sentence("network unreachable", "网络不可达")
      case .socksHost: Sentence("host unreachable", "主机不可达")
      case .socksRefused: Sentence("connection refused", "连接被拒绝")
      case .socksTTL: Sentence("TTL expired", "TTL 已过期")
      case .socksCommand: Sentence("command not supported", "不支持该命令")
      case .socksAddress: Sentence("address type not supported", "不支持该地址类型")
      case .socksOther: Sentence("error {1}", "错误 {1}")
      }
    }
  }
}
