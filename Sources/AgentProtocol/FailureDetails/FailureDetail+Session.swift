extension FailureDetail {
  /// Details about an account's session: attempts, messages, contacts, devices and the server.
  public enum Session: String, CaseIterable, Sendable {
    case alreadyOnline, attempts, noLogin, noLoginAfter, noAnswer, notBefore, tooManyFiles
    case earlierAttempt, loginFailed, otherDevice, by, byOtherDevice, platform, otherResource
    case noCorrectable, notSentTo, unknownMessage, messageIDTaken, unknownChatState
    case unknownName, unknownNameNear, ambiguousName
    case ownAccount, noContact, notAsked, noApproval, tooManyMarks
    case ambiguousDevice, hiddenResource, ownDevice, thisDevice, deviceOffline
    case noPush, tooManyPushServices, refused, noArchive, notHTTPS, api, status, unknownField
    case unusableTime, unusableVersion, unusableFeatures

    public var sentence: Sentence {
      switch self {
      case .alreadyOnline:
        Sentence("a session is online as {1}, and must not be replaced", "已有会话在线（{1}），不予替换")
      case .attempts: Sentence("{1} attempts; the last one: {2}", "尝试了 {1} 次；最后一次：{2}")
      case .noLogin: Sentence("no login within {1}", "{1}内没有登录成功")
      case .noLoginAfter:
        Sentence("no login within {1}; the last attempt: {2}", "{1}内没有登录成功；最后一次尝试：{2}")
      case .noAnswer: Sentence("no answer within {1}", "{1}内没有应答")
      case .notBefore: Sentence("no attempt before {1}", "在 {1} 之前不会再尝试")
      case .tooManyFiles: Sentence("too many files are open", "打开的文件过多")
      case .earlierAttempt:
        Sentence("the server resumed an earlier attempt of this session", "服务器接续了本会话较早的一次尝试")
      case .loginFailed: Sentence("closed because the login failed", "因登录失败而关闭")
      case .otherDevice:
        Sentence("another device has logged in since this one did", "此后另一台设备登录过")
      case .by: Sentence("by {1}", "操作方：{1}")
      case .byOtherDevice: Sentence("by another device", "操作方：另一台设备")
      case .platform: Sentence("platform {1}", "平台 {1}")
      case .otherResource:
        Sentence("the server bound another resource than {1}", "服务器绑定的资源不是 {1}")
      case .noCorrectable:
        Sentence("no message that could be corrected was sent to {1}", "没有可更正的消息发给 {1}")
      case .notSentTo: Sentence("no message with the ID {1} was sent to {2}", "没有 id 为 {1} 的消息发给 {2}")
      case .unknownMessage: Sentence("no message with the ID {1}", "没有 id 为 {1} 的消息")
      case .messageIDTaken: Sentence("another message has the ID {1}", "另一条消息的 id 也是 {1}")
      case .unknownChatState: Sentence("there is no chat state {1}", "没有名为 {1} 的聊天状态")
      case .unknownName: Sentence("nobody is called {1}", "没有名为 {1} 的联系人或聊天室")
      case .unknownNameNear:
        Sentence("nobody is called {1}; similar names: {2}", "没有名为 {1} 的联系人或聊天室；相近的有：{2}")
      case .ambiguousName: Sentence("more than one contact or room is called {1}: {2}", "有多个名为 {1} 的：{2}")
      case .ownAccount: Sentence("{1} is the account itself", "{1} 是该账号自身")
      case .noContact: Sentence("{1} is not a contact", "{1} 不是联系人")
      case .notAsked: Sentence("{1} has not asked", "{1} 没有提出请求")
      case .noApproval:
        Sentence(
          "{1} has not asked, and the server does not support pre-approval", "{1} 没有提出请求，而服务器不支持预先批准")
      case .tooManyMarks: Sentence("a conversation has at most {1} marks", "一个会话最多有 {1} 个标记")
      case .ambiguousDevice: Sentence("several devices are called {1}: {2}", "有多台名为 {1} 的设备：{2}")
      case .hiddenResource:
        Sentence(
          "the server does not reveal the resource of {1}: imctl devices kick --all --revoke ends its session",
          "服务器没有告知 {1} 的资源：imctl devices kick --all --revoke 可结束其会话")
      case .ownDevice:
        Sentence("{1} is this device: imctl logout ends its session", "{1} 是本设备：imctl logout 可结束其会话")
      case .thisDevice: Sentence("{1} is this device", "{1} 是本设备")
      case .deviceOffline: Sentence("{1} is not online: nothing was sent", "{1} 不在线：未发送任何内容")
      case .noPush: Sentence("the server does not support push notifications", "服务器没有推送通知")
      case .tooManyPushServices: Sentence("there are {1} push services already", "已有 {1} 个推送服务")
      case .refused: Sentence("the server refused: {1}", "服务器拒绝了请求：{1}")
      case .noArchive: Sentence("the server has no archive of the account", "服务器没有该账号的存档")
      case .notHTTPS: Sentence("{1} is not an address that begins with https://", "{1} 不是以 https:// 开头的地址")
      case .api: Sentence("the API at {1} (--api): {2}", "位于 {1} 的 API（--api）：{2}")
      case .status: Sentence("{1} answers with status {2}", "{1} 应答的状态为 {2}")
      case .unknownField: Sentence("there is no field {1}", "没有名为 {1} 的字段")
      case .unusableTime:
        Sentence("the server's answer about the time cannot be understood", "无法理解服务器关于时间的应答")
      case .unusableVersion:
        Sentence("the server's answer about the version cannot be understood", "无法理解服务器关于版本的应答")
      case .unusableFeatures:
        Sentence("the server's answer about the features cannot be understood", "无法理解服务器关于功能的应答")
      }
    }
  }
}
