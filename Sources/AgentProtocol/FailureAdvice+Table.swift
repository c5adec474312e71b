extension FailureAdvice {
  /// All advice; more specific advice precedes more general advice.
  static let all: [FailureAdvice] = input + local + tls + stream + authentication + answers

  /// Advice on invalid arguments where another command helps.
  private static let input: [FailureAdvice] = [
    FailureAdvice(
      name: .invalidParameter, details: [.usage(.unknownCommand), .usage(.unknownCommandNear)],
      hint: Sentence("`imctl help COMMAND` lists the commands.", "`imctl help COMMAND` 列出可用的命令。")),
    FailureAdvice(
      name: .invalidParameter, details: [.session(.unknownMessage), .session(.notSentTo)],
      hint: Sentence(
        "`imctl outbox list` shows the messages that wait to be sent.", "`imctl outbox list` 显示等待发送的消息。")),
    FailureAdvice(
      name: .invalidParameter,
      details: [.login(.noPasswordStored), .login(.noCurrentPassword), .login(.noPasswordForAPI)],
      hint: Sentence(
        "Give the password with --password-stdin or --password-command; on a terminal, `imctl login` asks for it.",
        "请用 --password-stdin 或 --password-command 给出密码；在终端上 `imctl login` 会询问密码。")),
    FailureAdvice(
      name: .invalidParameter, details: [.session(.unknownName), .session(.unknownNameNear)],
      hint: Sentence(
        "`imctl contacts list` shows the names; if a domain has no dot, add one to its end.",
        "`imctl contacts list` 显示各联系人的名称；不含点的域名须在末尾加点。")),
    FailureAdvice(
      name: .invalidParameter, details: [.session(.ambiguousName)],
      hint: Sentence("Specify the JID instead of the name.", "请给出所指对象的 JID。")),
    FailureAdvice(
      name: .invalidParameter, details: [.session(.noContact)],
      hint: Sentence("`imctl contacts list` shows the contacts.", "`imctl contacts list` 显示联系人。")),
    FailureAdvice(
      name: .invalidParameter, details: [.session(.notAsked), .session(.noApproval)],
      hint: Sentence(
        "`imctl contacts requests` shows who has asked.", "`imctl contacts requests` 显示待处理的请求。")),
    FailureAdvice(
      name: .invalidParameter, stage: .bind,
      hint: Sentence("Choose another resource: --resource", "请换一个资源：--resource")),
    FailureAdvice(
      name: .credentialSourceFailed, details: [.login(.openQuote)],
      hint: Sentence(
        "Close the quote; the command is split into words like in a shell.",
        "请闭合引号；该命令会像在 shell 中一样拆分为单词。")
    ),
    FailureAdvice(
      name: .credentialSourceFailed, details: [.login(.emptyCommand)],
      hint: Sentence("Specify a program that prints the secret.", "请指定一个输出密码或令牌的程序。")),
  ]

  /// Advice on failures of the local machine.
  private static let local: [FailureAdvice] = [
    FailureAdvice(
      name: .databaseError, details: [.store(.locked)],
      hint: Sentence(
        "Another command is writing it; try again when that command has ended.", "另一条命令正在写入：请等它结束后重试。")),
    FailureAdvice(
      name: .databaseError, details: [.store(.laterVersion)],
      hint: Sentence(
        "Use that version; this version would lose data that it does not understand.",
        "请使用那个版本：本版本会丢失无法理解的内容。")),
    FailureAdvice(
      name: .databaseError, details: [.store(.notJSON)],
      hint: Sentence(
        "Fix the file; a running agent continues with the data that it read before.",
        "请修正该文件；正在运行的后台进程沿用先前读取的内容。")),
    FailureAdvice(
      name: .databaseError, details: [.store(.damaged)],
      message: Sentence("the local store was damaged and has been replaced", "本地数据库已损坏，现已重新创建"),
      hint: Sentence(
        "The new file contains everything that could be read; `imctl history --sync` fetches older messages from the server.",
        "能读出的内容已放入新文件；`imctl history --sync` 可从服务器取回更早的消息。")),
    FailureAdvice(
      name: .agentUnreachable, details: [.agent(.tooFewFiles)],
      message: Sentence("the agent's limit of open files is too low", "后台进程可打开的文件数过少"),
      hint: Sentence(
        "Raise the limit (`ulimit -Hn`, or LimitNOFILE= of the service), then: imctl agent restart",
        "请提高上限（`ulimit -Hn`，或服务的 LimitNOFILE=），然后运行：imctl agent restart")),
    FailureAdvice(
      name: .connectTimeout, details: [.agent(.noAnswer)],
      hint: Sentence(
        "It may be busy or stopped: check its log with `imctl agent log`, or end its process; the next command starts a new agent.",
        "它可能正忙或已被暂停：请用 `imctl agent log` 查看其日志，或结束其进程；下一条命令会启动新的后台进程。")),
    FailureAdvice(
      name: .agentUnreachable, details: [.agent(.crowded)],
      hint: Sentence(
        "End some of the commands that stay connected, such as `imctl watch`, then try again.",
        "请结束一些保持连接的命令（例如 `imctl watch`），然后重试。")),
  ]

  private static let tls: [FailureAdvice] = [
    FailureAdvice(
      name: .tlsFailure, details: [.connection(.notPinned)],
      message: Sentence("the server's certificate is not the pinned one", "服务器出示的证书与所固定的证书不同"),
      hint: Sentence(
        "Someone may be intercepting the connection. Do not log in until the server's administrator has confirmed the new "
          + "certificate in another way; then run: imctl account trust JID --reset",
        "可能有人在您与服务器之间窃听。请先通过其他途径向服务器管理员核实新证书，之后再执行：imctl account trust JID --reset")),
    FailureAdvice(
      name: .tlsFailure, details: [.connection(.noTLS)],
      hint: Sentence(
        "Use --tls starttls with this port, or the port for direct TLS (often 5223).",
        "请对该端口使用 --tls starttls，或改用直接 TLS 的端口（通常为 5223）。")),
    FailureAdvice(
      name: .tlsFailure, details: [.stream(.answeredWithTLS)],
      hint: Sentence(
        "Use --tls direct with this port, or the port for STARTTLS (often 5222).",
        "请对该端口使用 --tls direct，或改用 STARTTLS 的端口（通常为 5222）。")),
    FailureAdvice(
      name: .networkError, details: [.stream(.endedBeforeStream)],
      hint: Sentence(
        "If so, use --tls direct with this port; otherwise, check whether the server is working.",
        "如果是，请对该端口使用 --tls direct；否则请检查服务器是否正常工作。")),
    FailureAdvice(
      name: .tlsFailure, details: [.connection(.oldTLS)],
      hint: Sentence("Ask the server's administrator to offer TLS 1.2 or 1.3.", "请让服务器管理员启用 TLS 1.2 或 1.3。")),
    FailureAdvice(
      name: .tlsFailure, details: [.stream(.noSTARTTLS)],
      hint: Sentence(
        "Try --tls direct with the server's port for direct TLS (often 5223); nothing is sent without TLS.",
        "请用 --tls direct 及服务器的相应端口（通常为 5223）重试；没有 TLS 就不会发送任何内容。")),
    FailureAdvice(
      name: .tlsFailure, details: [.stream(.tlsRefused)],
      hint: Sentence(
        "Tell the server's administrator; nothing is sent without TLS.", "请告知服务器管理员；没有 TLS 就不会发送任何内容。")),
    FailureAdvice(
      name: .tlsFailure, details: [.connection(.certificateExpired)],
      hint: Sentence(
        "Check this machine's clock; if it is right, tell the server's administrator to renew the certificate.",
        "请检查本机时钟；如果时钟正确，请让服务器管理员更新证书。")),
    FailureAdvice(
      name: .tlsFailure, details: [.connection(.certificateNotYetValid)],
      hint: Sentence(
        "Check this machine's clock; if it is right, tell the server's administrator.",
        "请检查本机时钟；如果时钟正确，请告知服务器管理员。")),
    FailureAdvice(
      name: .tlsFailure, details: [.connection(.otherDomain)],
      hint: Sentence(
        "Check the part after @ and --host. If both are correct, someone may be intercepting the connection, or the "
          + "server needs a certificate for the domain.",
        "请检查 @ 之后的部分和 --host；若均正确，则可能有人在您与服务器之间窃听，或服务器管理员需要为该域名申请证书。")),
  ]

  /// Advice on ends of a stream, and on errors from its server before there is a session.
  private static let stream: [FailureAdvice] = [
    FailureAdvice(
      name: .networkError, conditions: ["reset"],
      message: Sentence(
        "the server ended the session and requires a new one", "服务器结束了会话，需要重新开始"),
      hint: Sentence(
        "If the password was changed, log in with the new one: imctl login JID",
        "如果密码已更改，请用新密码登录：imctl login JID")),
    FailureAdvice(
      name: .networkError, conditions: ["system-shutdown"],
      message: Sentence("the server is shutting down", "服务器正在关闭"),
      hint: Sentence("Try again when the server is running.", "请等服务器恢复运行后重试。")),
    FailureAdvice(
      name: .networkError, conditions: ["connection-timeout"],
      message: Sentence(
        "the server has heard nothing from this device for too long", "服务器过久没有收到本设备的数据"),
      hint: Sentence("Check the network and try again.", "请检查网络后重试。")),
    FailureAdvice(
      name: .networkError, conditions: ["see-other-host"],
      message: Sentence("the server redirects its clients to another host", "服务器要求客户端改连另一台主机"),
      hint: Sentence("Try again, or specify the other host with --host.", "请重试，或用 --host 指定该主机。")),
    FailureAdvice(
      name: .networkError,
      conditions: [
        "internal-server-error", "remote-connection-failed", "temporary-auth-failure", "service-unavailable",
        "remote-server-timeout", "resource-constraint",
      ],
      message: Sentence("the server cannot process requests at the moment", "服务器目前无法正常工作"),
      hint: Sentence(
        "Try again later; if the problem persists, tell the server's administrator.",
        "请稍后重试；如果持续出现，请告知服务器管理员。")),
    FailureAdvice(
      name: .unknownDomain, conditions: ["host-unknown"],
      message: Sentence("the server does not serve this domain", "服务器不为该域名提供服务"),
      hint: Sentence("Check the part after @, and --host if it was given.", "请检查 @ 之后的部分，以及所给的 --host。")),
    FailureAdvice(
      name: .serviceGone, stage: .dns,
      message: Sentence("the domain has no XMPP service", "该域名没有 XMPP 服务"),
      hint: Sentence(
        "Check the part after @. If the server is not in the DNS, specify it with --host.",
        "请检查 @ 之后的部分；DNS 中没有的服务器可用 --host 指定。")),
    FailureAdvice(
      name: .kicked, conditions: ["policy-violation"],
      message: Sentence(
        "the server ended the session because of a policy violation", "服务器以违反规则为由结束了会话"),
      hint: Sentence(
        "Ask the server's administrator which rule was violated, then log in again: imctl login",
        "请向服务器管理员询问违反了哪条规则，然后重新登录：imctl login")),
  ]

  private static let authentication: [FailureAdvice] = [
    FailureAdvice(
      name: .authFailed, details: [.stream(.tokenNotTaken)],
      message: Sentence("the server's token for this device was refused", "服务器为本设备发放的令牌已被拒绝"),
      hint: Sentence("Log in again: imctl login JID", "请重新登录：imctl login JID")),
    FailureAdvice(
      name: .authFailed, conditions: ["invalid-authzid"],
      message: Sentence("these credentials are not for this account", "这些凭据不能用于该账号"),
      hint: Sentence(
        "Check JID and --authcid, then log in again: imctl login JID",
        "请检查 JID 和 --authcid 后重新登录：imctl login JID")),
  ]

  /// Advice on stanza errors (RFC 6120 §8.3.3).
  private static let answers: [FailureAdvice] = [
    FailureAdvice(
      name: .stanzaError, conditions: ["service-unavailable", "feature-not-implemented"],
      hint: Sentence(
        "The other side does not support this; `imctl server features` shows the features of the account's server.",
        "对方没有这项功能；`imctl server features` 显示账号所在服务器的功能。")),
    FailureAdvice(
      name: .stanzaError,
      conditions: [
        "forbidden", "not-allowed", "not-authorized", "registration-required", "subscription-required",
        "payment-required",
      ],
      hint: Sentence(
        "This account is not allowed to do this; ask the other side or the server's administrator for permission.",
        "该账号无权执行此操作：请向对方或服务器管理员申请权限。")),
    FailureAdvice(
      name: .stanzaError, conditions: ["item-not-found"],
      hint: Sentence("Check the name: nothing with this name exists.", "请检查名称：它所指的对象不存在。")),
    FailureAdvice(
      name: .stanzaError, conditions: ["remote-server-not-found"],
      hint: Sentence("Check the part of the address after @.", "请检查地址中 @ 之后的部分。")),
    FailureAdvice(
      name: .stanzaError, conditions: ["remote-server-timeout"],
      hint: Sentence(
        "The other server does not answer at the moment; try again later.", "对方的服务器目前没有应答：请稍后重试。")),
    FailureAdvice(
      name: .stanzaError, conditions: ["recipient-unavailable"],
      hint: Sentence("Try again when the recipient is online.", "请等对方上线后重试。")),
    FailureAdvice(
      name: .stanzaError, conditions: ["gone", "redirect"],
      hint: Sentence("Use the new address, if the answer names one.", "如果应答中有新地址，请改用新地址。")),
    FailureAdvice(
      name: .stanzaError, conditions: ["policy-violation", "resource-constraint"],
      hint: Sentence(
        "A limit was reached: try again later or with less, or ask the server's administrator.",
        "已达到限制：请稍后重试或减少内容，或联系服务器管理员。")),
    FailureAdvice(
      name: .stanzaError, conditions: ["jid-malformed"],
      hint: Sentence("Check the address.", "请检查地址。")),
    FailureAdvice(
      name: .stanzaError, conditions: ["conflict"],
      hint: Sentence("The name is taken: choose another one.", "该名称已被占用：请换一个。")),
    FailureAdvice(
      name: .stanzaError, conditions: ["internal-server-error"],
      hint: Sentence(
        "Try again later; if the problem persists, tell the server's administrator.",
        "请稍后重试；如果持续出现，请告知服务器管理员。")),
    FailureAdvice(
      name: .stanzaError, details: [.session(.deviceOffline)],
      message: Sentence("the device is not online", "该设备不在线"),
      hint: Sentence("`imctl devices list` shows which devices are online.", "`imctl devices list` 显示在线的设备。")),
    FailureAdvice(
      name: .stanzaError, details: [.session(.noPush)],
      message: Sentence("the server does not support this", "服务器不支持此操作"),
      hint: Sentence(
        "Ask the server's administrator to enable push notifications.", "请让服务器管理员启用推送通知。")),
    FailureAdvice(
      name: .stanzaError, details: [.session(.noArchive)],
      message: Sentence("the server does not support this", "服务器不支持此操作"),
      hint: Sentence(
        "`imctl history` without --sync shows what is stored here.", "不带 --sync 的 `imctl history` 显示本地存储的消息。")
    ),
  ]
}
