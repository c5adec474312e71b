extension FailureDetail {
  /// Details about the command line: invalid arguments, prompts, and waits of a command.
  public enum Usage: String, CaseIterable, Sendable {
    case unknownCommand, unknownCommandNear
    case unknownOption, unknownOptionNear, unexpectedArgument, unexpectedArguments, missingArgument,
      missingOneOf
    case missingValue, excessValue, wrongValueOf, wrongValueOfList, wrongValue, invalidOption
    case waited, standardInput, standardOutput, server, agentStart, agentEnd, localStore
    case nothingChanged, notUTF8, lineTooLong, inputLineTooLong, textTooLong, noText, nobodyToAsk
    case noPassword, noPasswordGiven, noTokenGiven, emptyPassword, emptyToken, emptySecret, passwordsDiffer,
      noPayload, notPayload
    case noEmail, noDomain, noJID, notJID, formSyntax, formName
    case tooManyRecipients, fileTooLong, fileNotUTF8
    case mayBeDone, serverMayBeDone, upgrade, handedOver, handedOverOf, mayBeAccepted, mayBeAcceptedOf
    case confirmedOf, stillQueued, unconfirmed

    public var sentence: Sentence {
      switch self {
      case .unknownCommand: Sentence("there is no command `{1}`", "没有命令 `{1}`")
      case .unknownCommandNear:
        Sentence("there is no command `{1}`: did you mean `{2}`?", "没有命令 `{1}`：您是指 `{2}` 吗？")
      case .unknownOption: Sentence("Unknown option '{1}'", "未知选项“{1}”")
      case .unknownOptionNear:
        Sentence("Unknown option '{1}'. Did you mean '{2}'?", "未知选项“{1}”。您是指“{2}”吗？")
      case .unexpectedArgument: Sentence("Unexpected argument '{1}'", "多余的参数“{1}”")
      case .unexpectedArguments: Sentence("{1} unexpected arguments: '{2}'", "{1} 个多余的参数：“{2}”")
      case .missingArgument: Sentence("Missing expected argument '{1}'", "缺少参数“{1}”")
      case .missingOneOf: Sentence("Missing one of: '{1}'", "缺少以下参数之一：“{1}”")
      case .missingValue: Sentence("Missing value for '{1}'", "“{1}”缺少值")
      case .excessValue:
        Sentence(
          "The option '{1}' does not take any value, but '{2}' was specified.",
          "选项“{1}”不接受值，却给出了“{2}”。")
      case .wrongValueOf:
        Sentence(
          "The value '{1}' is invalid for '{2}'. Please provide one of {3}.",
          "“{1}”不是“{2}”的有效值。可用的值：{3}。")
      case .wrongValueOfList:
        Sentence(
          "The value '{1}' is invalid for '{2}'. Please provide one of the following:",
          "“{1}”不是“{2}”的有效值。可用的值：")
      case .wrongValue: Sentence("The value '{1}' is invalid for '{2}'", "“{1}”不是“{2}”的有效值")
      case .invalidOption: Sentence("Invalid option: {1}", "无效选项：{1}")
      case .waited: Sentence("waited for {1}", "等待{1}")
      case .standardInput: Sentence("standard input", "标准输入")
      case .standardOutput: Sentence("standard output", "标准输出")
      case .server: Sentence("the server", "服务器")
      case .agentStart: Sentence("the start of the agent", "后台进程启动")
      case .agentEnd: Sentence("the end of the agent", "后台进程结束")
      case .localStore: Sentence("the local store", "本地存储")
      case .nothingChanged: Sentence("nothing was changed", "未作任何更改")
      case .notUTF8: Sentence("standard input is not UTF-8", "标准输入不是 UTF-8 编码")
      case .lineTooLong:
        Sentence("the line on standard input is longer than {1} octets", "标准输入的行超过 {1} 字节")
      case .inputLineTooLong:
        Sentence("a line on standard input is longer than {1} octets", "标准输入中有一行超过 {1} 字节")
      case .textTooLong: Sentence("the text is longer than {1} octets", "文本超过 {1} 字节")
      case .noText: Sentence("there is no text", "没有文本")
      case .nobodyToAsk: Sentence("there is no terminal to ask on: use --yes", "无法询问：请使用 --yes")
      case .noPassword: Sentence("no password: use {1}", "没有密码：请使用 {1}")
      case .noPasswordGiven:
        Sentence(
          "no password: use --password-stdin or --password-command",
          "没有密码：请使用 --password-stdin 或 --password-command")
      case .noTokenGiven:
        Sentence(
          "no token: use --token-stdin or --token-command", "没有令牌：请使用 --token-stdin 或 --token-command")
      case .emptyPassword: Sentence("the password is empty", "密码为空")
      case .emptyToken: Sentence("the token is empty", "令牌为空")
      case .emptySecret: Sentence("the secret is empty", "密钥为空")
      case .passwordsDiffer: Sentence("the two passwords differ", "两次输入的密码不一致")
      case .noPayload: Sentence("no payload: use --payload-stdin", "没有 payload：请使用 --payload-stdin")
      case .notPayload: Sentence("the payload is not a JSON object", "payload 不是 JSON 对象")
      case .noEmail: Sentence("no e-mail address is given", "没有给出电子邮件地址")
      case .noDomain: Sentence("no domain is given", "没有给出域名")
      case .noJID: Sentence("no JID is given", "没有给出 JID")
      case .notJID: Sentence("{1} is not a JID: user@domain", "{1} 不是 JID：应为 用户@域名")
      case .formSyntax: Sentence("--form takes name=value, not {1}", "--form 的格式为 名称=值，而不是 {1}")
      case .formName: Sentence("--form does not accept {1}", "--form 不接受 {1}")
      case .tooManyRecipients:
        Sentence("there are {1} recipients; at most {2} are allowed", "收件人有 {1} 个；最多允许 {2} 个")
      case .fileTooLong: Sentence("{1}: the file is too long", "{1}：文件过大")
      case .fileNotUTF8: Sentence("{1}: the file is not UTF-8", "{1}：文件不是 UTF-8 编码")
      case .mayBeDone:
        Sentence("the agent had already received the request and may have carried it out", "后台进程已收到请求，可能已经执行")
      case .serverMayBeDone:
        Sentence("the server may have carried out the request", "服务器可能已执行所请求的操作")
      case .upgrade:
        Sentence(
          "the upgrade of the database, which continues: {1} % is done", "数据库更新，更新仍在进行：已完成 {1}%")
      case .handedOver:
        Sentence(
          "the agent has the message and sends it if it has not done so yet; `imctl outbox cancel {1}` cancels it "
            + "while it waits",
          "消息已交给后台进程，如尚未发送则将发送；仍在等待时可用 `imctl outbox cancel {1}` 撤回")
      case .handedOverOf:
        Sentence(
          "messages that the server has: {1}; refused: {2}; passed to the agent, which sends them if it has not done so "
            + "yet: {3}; `imctl outbox list` shows the messages that wait",
          "服务器已收到的消息：{1}；被拒绝：{2}；已交给后台进程并将发送：{3}；`imctl outbox list` 可查看等待中的消息")
      case .mayBeAccepted:
        Sentence(
          "it may have the message and will then send it: a second try with `--id {1}` does not send it twice",
          "它可能已收到该消息并将发送：用 `--id {1}` 再试一次不会重复发送")
      case .mayBeAcceptedOf:
        Sentence(
          "messages that it may have and will then send: {1}; `imctl outbox list` and `imctl history` show those that "
            + "it has",
          "它可能已收到并将发送的消息：{1}；`imctl outbox list` 和 `imctl history` 可查看已收到的消息")
      case .confirmedOf:
        Sentence(
          "messages that the server has confirmed: {1} of {2}; the others may have been sent, and are not queued",
          "服务器已确认的消息：{1}/{2}；其余的可能已经发送，且不在队列中")
      case .stillQueued:
        Sentence("still queued, and sent as soon as the account is online: {1}", "仍在队列中，账号上线后发送：{1}")
      case .unconfirmed:
        Sentence(
          "the server has the message, but no client of the recipient has confirmed it: {1}",
          "服务器已收到，但收件人的客户端尚未确认：{1}")
      }
    }
  }
}
