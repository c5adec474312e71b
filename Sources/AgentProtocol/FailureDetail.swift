/// What a failure's detail says, in Chinese.
///
/// A detail is made where the failure is: in the agent, whose locale may be another one than the command's, and in
/// libraries that speak English only. So its words are told by their pattern, and what is not known stays as it is.
public enum FailureDetail {
  /// The detail in Chinese where it is known, else as it is.
  public static func chinese(_ detail: String) -> String {
    for (pattern, chinese) in phrases {
      if let facts = facts(of: detail, in: pattern) { return fill(chinese, with: facts) }
    }
    return detail
  }

  /// What stands in the places of the stars; each takes as little as it can, but the last one.
  static func facts(of detail: String, in pattern: String) -> [Substring]? {
    let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
    guard let first = parts.first, detail.hasPrefix(first) else { return nil }
    var rest = detail.dropFirst(first.count)
    var facts: [Substring] = []
    for (index, part) in parts.enumerated().dropFirst() {
      if index == parts.count - 1 {
        guard rest.hasSuffix(part) else { return nil }
        facts.append(rest.dropLast(part.count))
        return facts
      }
      guard let end = rest.firstRange(of: part) else { return nil }
      facts.append(rest[..<end.lowerBound])
      rest = rest[end.upperBound...]
    }
    return rest.isEmpty ? [] : nil
  }

  private static func fill(_ text: String, with facts: [Substring]) -> String {
    var parts = text.split(separator: "*", omittingEmptySubsequences: false)[...]
    var filled = String(parts.popFirst() ?? "")
    for (fact, part) in zip(facts, parts) { filled += fact + part }
    return filled
  }

  /// The first that fits counts. Both sides have the same facts in the same order.
  static let phrases: [(english: String, chinese: String)] = [
    // Tokens.
    ("it is encoded in base64 once more: decode it first", "它又经过了一次 base64 编码：请先解码"),
    ("it has 1 segment, a JWT has 3", "它只有 1 段，JWT 应有 3 段"),
    ("it has * segments, a JWT has 3", "它有 * 段，JWT 应有 3 段"),
    ("its header is not base64url", "其头部不是 base64url 编码"),
    ("its claims is not base64url", "其声明不是 base64url 编码"),
    ("its signature is not base64url", "其签名不是 base64url 编码"),
    ("its header is no JSON object", "其头部不是 JSON 对象"),
    ("its claims is no JSON object", "其声明不是 JSON 对象"),
    ("its claim exp is no number", "其声明 exp 不是数字"),
    ("it has blanks or control characters inside", "其中含有空白或控制字符"),
    ("it expired at *", "已于 * 过期"),
    ("the token says: *", "令牌中写明：*"),
    ("the token command gave none, and no other token is there", "令牌命令没有给出令牌，也没有其他令牌"),
    ("the token command gave none: the given one is used", "令牌命令没有给出令牌：使用所给的令牌"),
    // The local store.
    ("*: made by a later version of imctl", "*：由更新版本的 imctl 创建"),
    ("* was damaged, and is now *: nothing that waited to be sent is lost", "* 已损坏，现移至 *：待发送的消息没有丢失"),
    ("* was damaged, and is now *: lost of what waited to be sent: *", "* 已损坏，现移至 *：待发送的消息中丢失了：*"),
    (
      "* was damaged, and is now *: not all of what waited to be sent could be read",
      "* 已损坏，现移至 *：待发送的消息未能全部读出"
    ),
    // Messages.
    ("no message that could be corrected was sent to *", "没有可更正的消息发给 *"),
    ("no message with the id * was sent to *", "没有 id 为 * 的消息发给 *"),
    ("nobody is called *; near it: *", "没有名为 * 的联系人或聊天室；相近的有：*"),
    ("nobody is called *", "没有名为 * 的联系人或聊天室"),
    ("more than one is called *: *", "有多个名为 * 的：*"),
    ("no chat state is called *", "没有名为 * 的聊天状态"),
    // Credentials.
    ("a quote in the command is not closed", "命令中的引号没有闭合"),
    ("the command is empty", "命令为空"),
    ("no password is stored for *: give one with --password-stdin", "没有为 * 存储密码：请用 --password-stdin 给出"),
    (
      "no password is stored for *: give the current one with --password-stdin",
      "没有为 * 存储密码：请用 --password-stdin 给出当前密码"
    ),
    ("--auth * needs what it logs in with", "--auth * 缺少登录凭据"),
    ("--auth * takes no password", "--auth * 不接受密码"),
    ("--auth * takes no token", "--auth * 不接受令牌"),
    ("--auth * takes no certificate", "--auth * 不接受证书"),
    ("--store * is not for --auth *", "--store * 不能用于 --auth *"),
    (
      "--store command needs --password-command or --token-command",
      "--store command 需要 --password-command 或 --token-command"
    ),
    ("for --auth anonymous there is only a domain: *", "--auth anonymous 只需要域名：*"),
    ("a JID to log in with has a local part: *", "用于登录的 JID 须有 @ 之前的部分：*"),
    ("no user name before the @: *", "@ 之前没有用户名：*"),
    ("a SHA-256 has 64 hexadecimal digits", "SHA-256 应为 64 位十六进制数字"),
    (
      "the login extension has * UTF-16 units, at most 1024 are allowed", "登录扩展有 * 个 UTF-16 单元，最多 1024 个"
    ),
    // Authentication.
    ("the server logged in *, not *", "服务器登录的是 *，而不是 *"),
    (
      "* would show the password to a server that has SCRAM: *", "* 会向支持 SCRAM 的服务器暴露密码：*"
    ),
    ("* would send the password without TLS", "* 会在没有 TLS 的情况下发送密码"),
    ("* would send the token without TLS", "* 会在没有 TLS 的情况下发送令牌"),
    // The account at its server.
    ("this account exists already: choose another name", "该账号已存在：请换一个名称"),
    (
      "the server allows nobody to register by itself: ask whoever runs it for an account",
      "服务器不允许自行注册：请向服务器管理员申请账号"
    ),
    ("the server allows nobody * by itself: ask whoever runs it", "服务器不允许自行操作（*）：请联系服务器管理员"),
    ("too many of this address lately", "该地址近来请求过多"),
    ("the agent does not answer", "代理进程没有应答"),
    ("the agent does not answer; *", "代理进程没有应答；*"),
    ("it has * clients, and serves no more at a time", "它已有 * 个客户端，不能同时服务更多"),
    (
      "* files may be open at a time, * are needed for all sessions and clients",
      "同时最多可打开 * 个文件，所有会话和客户端需要 * 个"
    ),
    // Proxies.
    ("a proxy is socks5h://host:port or http://host:port", "代理的格式为 socks5h://主机:端口 或 http://主机:端口"),
    (
      "a password has no place in a URL: use --proxy-password-command",
      "URL 中不得包含密码：请使用 --proxy-password-command"
    ),
    ("behind host and port of a proxy there is nothing", "代理的主机和端口之后不应有其他内容"),
    ("the proxy's user name cannot be used", "代理的用户名无法使用"),
    ("the proxy's host or port cannot be used", "代理的主机或端口无法使用"),
    ("--proxy-password-command needs --proxy", "--proxy-password-command 需要 --proxy"),
    (
      "--proxy-password-command needs a user name in --proxy", "--proxy-password-command 需要 --proxy 中有用户名"
    ),
    ("no answer from the proxy * in time", "代理 * 未及时应答"),
    ("the proxy * closed the connection", "代理 * 关闭了连接"),
    ("the proxy * sent something that nobody asked for", "代理 * 发送了意外的数据"),
    ("the answer of the proxy * is too long", "代理 * 的应答过长"),
    ("the proxy * answered: *", "代理 * 应答：*"),
    ("the proxy * refused user and password", "代理 * 拒绝了用户名和密码"),
    ("the proxy * wants a user and a password", "代理 * 要求用户名和密码"),
    ("the proxy * takes no user and password", "代理 * 不接受用户名和密码"),
    ("the proxy * does not speak SOCKS5", "代理 * 不使用 SOCKS5"),
    ("the proxy * does not speak HTTP", "代理 * 不使用 HTTP"),
    // Time and attempts.
    ("no answer within * s", "* 秒内没有应答"),
    ("no attempt before *", "在 * 之前不会再尝试"),
    ("the server's answer about * cannot be understood", "无法理解服务器关于 * 的应答"),
    ("no login within * s; the last attempt: *", "* 秒内没有登录成功；最后一次尝试：*"),
    ("no login within * s", "* 秒内没有登录成功"),
    ("a session is online as *, and is not to be replaced", "已有会话在线（*），不予替换"),
    ("another device has logged in since this one did", "此后另一台设备登录过"),
    ("the session ended at once", "会话随即结束"),
    ("* attempts; the last: *", "尝试了 * 次；最后一次：*"),
    (
      "the connection ended before the server opened a stream: its port may be one for direct TLS",
      "服务器尚未打开流，连接就已结束：其端口可能用于直接 TLS"
    ),
    ("the server answers with TLS: its port is one for direct TLS", "服务器以 TLS 应答：其端口用于直接 TLS"),
    ("* is not online: nothing was sent", "* 不在线：未发送任何内容"),
    ("the server has no push notifications", "服务器没有推送通知"),
    ("the server has no archive of the account", "服务器没有该账号的存档"),
    ("a conversation has at most * marks", "一个会话最多有 * 个标记"),
    ("there is no command `*`: did you mean `*`?", "没有命令 `*`：您是指 `*` 吗？"),
    ("there is no command `*`", "没有命令 `*`"),
    // Wrong arguments, as ArgumentParser tells of them.
    ("Unknown option '*'. Did you mean '*'?", "未知选项“*”。您是指“*”吗？"),
    ("Unknown option '*'", "未知选项“*”"),
    ("Unexpected argument '*'", "多余的参数“*”"),
    ("* unexpected arguments: '*'", "* 个多余的参数：“*”"),
    ("Missing expected argument '*'", "缺少参数“*”"),
    ("Missing one of: '*'", "缺少以下参数之一：“*”"),
    ("Missing value for '*'", "“*”缺少值"),
    ("The option '*' does not take any value, but '*' was specified.", "选项“*”不接受值，却给出了“*”。"),
    (
      "The value '*' is invalid for '*'. Please provide one of the following:",
      "“*”不是“*”的有效值。可用的值："
    ),
    ("The value '*' is invalid for '*'. Please provide one of *.", "“*”不是“*”的有效值。可用的值：*。"),
    ("The value '*' is invalid for '*'", "“*”不是“*”的有效值"),
    ("Invalid option: *", "无效选项：*"),
    // Commands, with the last line of what they said.
    ("*: no such command", "*：没有此命令"),
    ("*: cannot be run", "*：无法运行"),
    ("*: not UTF-8", "*：不是 UTF-8"),
    ("*: exit status *", "*：退出状态 *"),
    ("*: signal *", "*：信号 *"),
    ("*: no output", "*：没有输出"),
    ("*: no output: *", "*：没有输出：*"),
    ("*: no answer within * s", "*：* 秒内没有应答"),
    ("*: no answer within * s: *", "*：* 秒内没有应答：*"),
  ]
}
