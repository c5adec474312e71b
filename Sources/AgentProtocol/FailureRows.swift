extension FailureTable {
  /// All rows, ordered by exit status.
  public static let rows: [Row] = [
    row(
      .invalidParameter, codes: [414, 33_003], exit: 64, retry: .fatal, clears: .nothing,
      english: ("invalid parameter", "`imctl help COMMAND` shows what the command accepts."),
      chinese: ("参数无效", "`imctl help COMMAND` 说明该命令接受的参数。")),
    row(
      .notLoggedIn, codes: [], exit: 67, retry: .fatal, clears: .nothing,
      english: ("not logged in", "Log in first: imctl login JID"),
      chinese: ("尚未登录", "请先登录：imctl login JID")),
    row(
      .firstLoginNeedsNetwork, codes: [], exit: 67, retry: .fatal, clears: .nothing,
      english: (
        "the first login needs the network", "Connect to the network, then log in once: imctl login JID"
      ),
      chinese: ("首次登录需要网络", "请连接网络后登录一次：imctl login JID")),
    row(
      .unknownDomain, codes: [8], exit: 68, retry: .automatic, clears: .nothing,
      english: (
        "the domain is unknown or wrong",
        "Check the part after @. If the server is not in the DNS, specify it with --host."
      ),
      chinese: ("域名未知或错误", "请检查 @ 之后的部分；DNS 中没有的服务器可用 --host 指定。")),
    row(
      .serviceGone, codes: [31_008], exit: 69, retry: .fatal, clears: .nothing,
      english: (
        "the server no longer serves this domain", "Ask the server's administrator where the service went."
      ),
      chinese: ("服务器已不再为该域名提供服务", "请向服务器管理员询问服务的去向。")),
    row(
      .connectionRefused, codes: [61], exit: 69, retry: .automatic, clears: .nothing,
      english: (
        "the server refuses the connection; it may not be running",
        "Check host and port (--host, --port), or try again when the server is running."
      ),
      chinese: ("服务器拒绝连接，可能没有运行", "请检查主机和端口（--host、--port），或等服务器运行后再试。")),
    row(
      .mechanismUnavailable, codes: [], exit: 69, retry: .fatal, clears: .nothing,
      english: (
        "the server offers no login mechanism that imctl supports",
        "`imctl login --list-mechanisms JID` shows what the server offers."
      ),
      chinese: ("服务器没有提供双方都支持的登录方式", "`imctl login --list-mechanisms JID` 会显示服务器提供的方式。")),
    row(
      .agentUnreachable, codes: [], exit: 69, retry: .fatal, clears: .nothing,
      english: (
        "the agent cannot be reached",
        "Check its log, then restart it: imctl agent log; imctl agent restart"
      ),
      chinese: ("无法连接后台进程", "请查看日志后重新启动：imctl agent log；imctl agent restart")),
    row(
      .internalError, codes: [], exit: 70, retry: .fatal, clears: .nothing,
      english: ("internal error", "This is a bug: please report it with the output of `imctl agent log`."),
      chinese: ("内部错误", "这是程序缺陷，请附上 `imctl agent log` 的输出进行报告。")),
    row(
      .tlsFailure, codes: [], exit: 71, retry: .fatal, clears: .nothing,
      english: (
        "the connection cannot be made secure",
        "Tell the server's administrator. For your own server, specify its authority with --ca-file, or its certificate with --cert-sha256."
      ),
      chinese: ("无法建立安全连接", "请告知服务器管理员。如果服务器是您自己的，请用 --ca-file 指定证书颁发机构，或用 --cert-sha256 指定证书。")),
    row(
      .databaseError, codes: [33_002], exit: 73, retry: .fatal, clears: .nothing,
      english: (
        "the local store cannot be used", "Check the owner, mode and free space of this path."
      ),
      chinese: ("无法使用本地存储", "请检查所示路径的属主、权限和剩余空间。")),
    row(
      .outputFailed, codes: [], exit: 73, retry: .fatal, clears: .nothing,
      english: (
        "the output could not be written",
        "The output is incomplete: check the free space of the disk, or the program that reads the output."
      ),
      chinese: ("无法写入输出", "输出不完整：请检查文件所在磁盘的剩余空间，或读取输出的程序。")),
    row(
      .stanzaError, codes: [], exit: 74, retry: .fatal, clears: .nothing,
      english: (
        "the request was answered with an error",
        "If the answer does not explain the problem, show it to the server's administrator."
      ),
      chinese: ("请求得到了错误应答", "如果应答没有说明问题所在，请把它交给服务器管理员。")),
    row(
      .networkError, codes: [], exit: 75, retry: .again, clears: .nothing,
      english: ("network problem", "Check the network and try again."),
      chinese: ("网络有问题", "请检查网络后重试。")),
    row(
      .connectTimeout, codes: [34_006], exit: 75, retry: .again, clears: .nothing,
      english: ("no answer in time", "Try again when the network is better, or with a larger --timeout."),
      chinese: ("连接超时", "请在网络较好时重试，或加大 --timeout。")),
    row(
      .retriesExhausted, codes: [], exit: 75, retry: .again, clears: .nothing,
      english: ("every attempt failed", "Check the network, then log in again: imctl login"),
      chinese: ("所有尝试均失败", "请检查网络后重新登录：imctl login")),
    row(
      .alreadyRunning, codes: [], exit: 75, retry: .again, clears: .nothing,
      english: ("already running", "The running agent serves every command: imctl agent status"),
      chinese: ("已在运行", "正在运行的进程可供所有命令使用：imctl agent status")),
    row(
      .protocolError, codes: [], exit: 76, retry: .fatal, clears: .nothing,
      english: (
        "the other side does not follow the protocol",
        "Try again with -vv and show the log to the server's administrator."
      ),
      chinese: ("对方不遵守协议", "请加 -vv 重试，并把日志交给服务器管理员。")),
    row(
      .downgrade, codes: [], exit: 76, retry: .fatal, clears: .nothing,
      english: (
        "downgrade: the server offers less security than before",
        "Someone may be listening. If the server really changed: imctl account trust JID --reset; imctl login JID"
      ),
      chinese: ("降级：服务器提供的安全性低于以往", "可能有人在窃听。若服务器确实变更：imctl account trust JID --reset；imctl login JID")),
    row(
      .authFailed, codes: [302, 31_004], exit: 77, retry: .fatal, clears: .secret,
      english: ("wrong user or password", "Check JID and password, then log in again: imctl login JID"),
      chinese: ("用户名或密码错误", "请检查 JID 和密码后重新登录：imctl login JID")),
    row(
      .tokenIncorrect, codes: [31_004], exit: 77, retry: .freshToken, clears: .secret,
      english: ("the token is incorrect", "Get a token for this server, then log in again."),
      chinese: ("令牌不正确", "请获取适用于该服务器的令牌后重新登录。")),
    row(
      .invalidToken, codes: [31_004], exit: 77, retry: .freshToken, clears: .secret,
      english: ("the token is invalid", "Get a new token, then log in again."),
      chinese: ("令牌无效", "请获取新令牌后重新登录。")),
    row(
      .clientRejected, codes: [302], exit: 77, retry: .fatal, clears: .secret,
      english: (
        "the server does not accept this client", "Ask the server's administrator which clients may log in."
      ),
      chinese: ("服务器不接受该客户端", "请向服务器管理员询问允许登录的客户端。")),
    row(
      .credentialSourceFailed, codes: [], codesAtInput: [414], exit: 77, exitAtInput: 64, retry: .fatal,
      clears: .nothing,
      english: (
        "the credential command failed",
        "Run the command by itself: it must print the secret and exit with status 0."
      ),
      chinese: ("凭据命令失败", "请单独运行该命令：它必须输出密码或令牌，并以状态 0 退出。")),
    row(
      .notInitialized, codes: [33_001], exit: 78, retry: .fatal, clears: .nothing,
      english: ("no account has been set up", "Log in first: imctl login JID"),
      chinese: ("尚未设置任何账号", "请先登录：imctl login JID")),
    row(
      .tokenExpired, codes: [31_020], exit: 79, retry: .freshToken, clears: .token,
      english: ("the token has expired", "Get a new token, then log in again."),
      chinese: ("令牌已过期", "请获取新令牌后重新登录。")),
    row(
      .sessionExpired, codes: [31_020], exit: 79, retry: .freshToken, clears: .token,
      english: ("the session has expired", "Log in again: imctl login"),
      chinese: ("会话已过期", "请重新登录：imctl login")),
    row(
      .kicked, codes: [31_010, 206], exit: 80, retry: .stop, clears: .isLogin,
      english: (
        "the session was ended by the server or by another device",
        "If it was not you, change the password; then log in again: imctl login"
      ),
      chinese: ("会话已被服务器或其他设备终止", "如果不是您本人所为，请修改密码；然后重新登录：imctl login")),
    row(
      .otherDeviceLogin, codes: [31_023], exit: 81, retry: .stop, clears: .nothing,
      english: ("another device logged in at the same moment", "Log in again: imctl login"),
      chinese: ("另一台设备正在同时登录", "请重新登录：imctl login")),
    row(
      .loginForbidden, codes: [403], exit: 82, retry: .fatal, clears: .secret,
      english: (
        "the server forbids this login", "Ask the server's administrator whether the account may log in."
      ),
      chinese: ("服务器禁止此登录", "请向服务器管理员询问该账号是否可以登录。")),
    row(
      .userBlocked, codes: [31_009], exit: 82, retry: .fatal, clears: .secret,
      english: ("the account is blocked", "Ask the server's administrator why it is blocked."),
      chinese: ("账号已被封禁", "请向服务器管理员询问封禁原因。")),
    row(
      .proxyUnavailable, codes: [31_028], exit: 83, retry: .automatic, clears: .nothing,
      english: (
        "the proxy cannot be used",
        "Check that the proxy is running, and check its address (--proxy), user and password."
      ),
      chinese: ("无法使用代理服务器", "请检查代理是否在运行、其地址（--proxy）以及用户名和密码。")),
    row(
      .deviceChanged, codes: [417], exit: 84, retry: .fatal, clears: .token,
      english: (
        "the account has since been used on another device", "Log in with the password: imctl login JID"
      ),
      chinese: ("账号此后已在其他设备上使用", "请用密码登录：imctl login JID")),
    row(
      .tooManyDevices, codes: [214], exit: 85, retry: .later, clears: .nothing,
      english: (
        "too many devices are logged in",
        "Log one of them out, then log in again: imctl login"
      ),
      chinese: ("登录的设备过多", "请让其中一台退出，然后重新登录：imctl login")),
    row(
      .rateLimited, codes: [], exit: 86, retry: .after, clears: .nothing,
      english: ("the server asks imctl to slow down", "Wait a little, then try again."),
      chinese: ("服务器要求放慢速度", "请稍候再试。")),
    row(
      .deliveryUnconfirmed, codes: [], exit: 87, retry: .fatal, clears: .nothing,
      english: (
        "delivery was not confirmed in time",
        "`imctl outbox list` shows the messages that are still queued; all others have reached the server."
      ),
      chinese: ("未能及时确认送达", "`imctl outbox list` 可查看仍在队列中的消息；未列出的已在服务器上。")),
    row(
      .cancelled, codes: [], exit: 130, retry: .fatal, clears: .nothing,
      english: ("cancelled", "Changes made before the cancellation remain in effect."),
      chinese: ("已取消", "取消之前已完成的操作仍然有效。")),
  ]

  private static func row(
    _ name: Failure.Name, codes: [Int], codesAtInput: [Int]? = nil, exit: Int32, exitAtInput: Int32? = nil,
    retry: Retry, clears: Clears,
    english: (message: String, hint: String), chinese: (message: String, hint: String)
  ) -> Row {
    Row(
      name: name, codes: codes, codesAtInput: codesAtInput, exit: exit, exitAtInput: exitAtInput,
      retry: retry, clears: clears,
      english: Failure.Text(english.message, hint: english.hint),
      chinese: Failure.Text(chinese.message, hint: chinese.hint))
  }
}
