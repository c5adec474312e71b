extension FailureDetail {
  /// Details about streams, for the cases of `XMPPError`.
  public enum Stream: String, CaseIterable, Sendable {
    case silent, loginCancelled, loginGivenUp, streamClosed, sessionEnded, connectsOnce, noLogin
    case noTLSInTime, noServer, redirectedTooOften, notOnline, connectionLost, closedByPeer
    case closedByServer, closedWithoutReason, tooManyEvents, nothingAcknowledged
    case wrongAcknowledgement, requestIDTaken, requestUnanswered, requestCancelled, answerLeftOut
    case refusedContent, cannotGoOn, endedBeforeStream, answeredWithTLS, dataBeforeTLS, tlsRefused
    case noSTARTTLS, noBinding, unexpected, notXMPP, oldXMPP, notForClients, otherDomain, noFullJID
    case loggedInNobody, loggedInOther, boundOther, unusableMechanism, tokenNotTaken
    case mechanismWithdrawn, anotherStep, streamError, loginRefused, bindRefused, requestRefused
    case attemptGivenUp, clientDisconnected

    public var sentence: Sentence {
      switch self {
      case .silent: Sentence("the server does not answer any more", "服务器不再应答")
      case .loginCancelled: Sentence("the login was cancelled", "登录已取消")
      case .loginGivenUp: Sentence("the login was given up", "登录已放弃")
      case .streamClosed: Sentence("the stream was closed", "流已关闭")
      case .sessionEnded: Sentence("the session has ended", "会话已结束")
      case .connectsOnce: Sentence("a stream connects only once", "一个流只能连接一次")
      case .noLogin: Sentence("no login within {1} s", "{1} 秒内没有登录成功")
      case .noTLSInTime:
        Sentence("{1} did not reach TLS within {2} s", "{1} 在 {2} 秒内未进入 TLS 阶段")
      case .noServer: Sentence("no server for {1}", "找不到 {1} 的服务器")
      case .redirectedTooOften:
        Sentence("the server redirected the connection more than {1} times", "服务器一再要求改连其他主机，已超过 {1} 次")
      case .notOnline: Sentence("the stream has no bound resource", "该流没有绑定资源")
      case .connectionLost: Sentence("the connection was lost: {1}", "连接已断开：{1}")
      case .closedByPeer: Sentence("the connection was closed by the other side", "连接被对方关闭")
      case .closedByServer: Sentence("the server closed the stream", "服务器关闭了流")
      case .closedWithoutReason:
        Sentence("the server closed the session without saying why", "服务器关闭了会话，没有说明原因")
      case .tooManyEvents:
        Sentence(
          "so many events wait for the program that the server's acknowledgements are not read",
          "等待程序处理的事件过多，因而未读取服务器的确认")
      case .nothingAcknowledged:
        Sentence("the server acknowledges nothing that it receives", "服务器对所收到的内容一概不予确认")
      case .wrongAcknowledgement:
        Sentence(
          "the server acknowledges {1} stanzas, but only {2} were sent",
          "服务器确认了 {1} 个节，而发送的只有 {2} 个")
      case .requestIDTaken:
        Sentence("a request with the ID {1} still waits for its answer", "id 为 {1} 的请求仍在等待应答")
      case .requestUnanswered: Sentence("the server did not answer in time", "服务器没有及时应答")
      case .requestCancelled: Sentence("the request was cancelled", "请求已取消")
      case .answerLeftOut: Sentence("the answer was dropped: {1}", "应答已被舍弃：{1}")
      case .refusedContent: Sentence("data from the server is refused: {1}", "服务器发送的内容被拒绝：{1}")
      case .cannotGoOn: Sentence("the server cannot go on with the session: {1}", "服务器无法继续该会话：{1}")
      case .endedBeforeStream:
        Sentence(
          "the connection ended before the server opened a stream: its port may be for direct TLS",
          "服务器尚未打开流，连接就已结束：其端口可能用于直接 TLS")
      case .answeredWithTLS:
        Sentence(
          "the server answers with TLS: its port is for direct TLS",
          "服务器以 TLS 应答：其端口用于直接 TLS")
      case .dataBeforeTLS:
        Sentence(
          "the server sent data between <proceed/> and the TLS handshake",
          "服务器在 <proceed/> 与 TLS 握手之间发送了数据")
      case .tlsRefused: Sentence("the server refused to start TLS", "服务器拒绝启动 TLS")
      case .noSTARTTLS: Sentence("the server does not offer STARTTLS", "服务器不提供 STARTTLS")
      case .noBinding: Sentence("the server does not offer resource binding", "服务器不提供资源绑定")
      case .unexpected:
        Sentence("the server sent <{1}/> where something else was expected", "服务器此时不应发送 <{1}/>")
      case .notXMPP: Sentence("the server does not speak XMPP: <{1}>", "服务器使用的不是 XMPP：<{1}>")
      case .oldXMPP:
        Sentence("the server speaks a version of XMPP before 1.0", "服务器使用的 XMPP 版本低于 1.0")
      case .notForClients: Sentence("the server does not speak with clients: {1}", "服务器不与客户端通信：{1}")
      case .otherDomain: Sentence("the server speaks for {1}, not for {2}", "服务器代表的是 {1}，而不是 {2}")
      case .noFullJID: Sentence("the server bound no full JID", "服务器绑定的不是完整 JID")
      case .loggedInNobody: Sentence("the server logged in no account: {1}", "服务器没有登录任何账号：{1}")
      case .loggedInOther: Sentence("the server logged in {1}, not {2}", "服务器登录的是 {1}，而不是 {2}")
      case .boundOther:
        Sentence("the server bound the JID of another account: {1}", "服务器绑定了另一个账号的 JID：{1}")
      case .unusableMechanism: Sentence("{1} cannot be used with this connection", "{1} 不能用于此连接")
      case .tokenNotTaken: Sentence("the server no longer accepts the token", "服务器不再接受该令牌")
      case .mechanismWithdrawn:
        Sentence("the server no longer offers {1} but continues to use it", "服务器不再提供 {1}，却仍继续使用它")
      case .anotherStep:
        Sentence(
          "the server requires another step that imctl does not support: {1}",
          "服务器要求另一个步骤，imctl 不支持：{1}")
      case .streamError: Sentence("the server ended the stream: {1}", "服务器结束了流：{1}")
      case .loginRefused: Sentence("the server refused the login: {1}", "服务器拒绝了登录：{1}")
      case .bindRefused: Sentence("the server refused to bind a resource: {1}", "服务器拒绝绑定资源：{1}")
      case .requestRefused: Sentence("{1} was refused: {2}", "{1} 被拒绝：{2}")
      case .attemptGivenUp: Sentence("the attempt was given up", "该次尝试已放弃")
      case .clientDisconnected: Sentence("the program has disconnected the client", "程序已断开客户端")
      }
    }
  }
}
