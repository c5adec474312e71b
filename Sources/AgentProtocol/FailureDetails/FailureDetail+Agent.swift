extension FailureDetail {
  /// Details about the agent's process, its socket and its requests.
  public enum Agent: String, CaseIterable, Sendable {
    case noAnswer, crowded, tooFewFiles, versions, unknownOption, wrongOption, notOpen
    case parameterMissing, parameterNull, parameterType, parameterValue
    case endedAtOnce, ended, closed, notAgent, socketNotOwned, noProgram, exited, killed

    public var sentence: Sentence {
      switch self {
      case .noAnswer: Sentence("the agent does not answer", "后台进程没有应答")
      case .crowded:
        Sentence("it has {1} clients and cannot serve more at a time", "它已有 {1} 个客户端，不能同时服务更多")
      case .tooFewFiles:
        Sentence(
          "{1} files can be open at a time, but {2} are needed for all sessions and clients",
          "同时最多可打开 {1} 个文件，所有会话和客户端需要 {2} 个")
      case .versions:
        Sentence(
          "imctl is of version {1} and imctl-agent of version {2}: install both together",
          "imctl 的版本为 {1}，而 imctl-agent 的版本为 {2}：请一起安装")
      case .unknownOption: Sentence("imctl-agent serve has no option {1}", "imctl-agent serve 没有选项 {1}")
      case .wrongOption: Sentence("{1} has no valid value", "{1} 没有有效的值")
      case .notOpen: Sentence("not an open descriptor: {1}", "不是已打开的描述符：{1}")
      case .parameterMissing: Sentence("{1} is missing", "缺少 {1}")
      case .parameterNull: Sentence("{1} is null", "{1} 为 null")
      case .parameterType: Sentence("{1} has the wrong type", "{1} 的类型错误")
      case .parameterValue: Sentence("{1} has a value that is not allowed", "{1} 的值不被允许")
      case .endedAtOnce: Sentence("it ended immediately", "启动后立即退出")
      case .ended: Sentence("it has ended", "它已退出")
      case .closed: Sentence("it closed the connection", "连接已被其关闭")
      case .notAgent: Sentence("the program that answers on its socket is not an agent", "套接字上应答的不是后台进程")
      case .socketNotOwned: Sentence("the socket belongs to another user", "该套接字属于其他用户")
      case .noProgram:
        Sentence(
          "the program imctl-agent is neither in {1} nor in {1}/../libexec/imctl",
          "{1} 和 {1}/../libexec/imctl 中都没有程序 imctl-agent")
      case .exited:
        Sentence(
          "imctl-agent ended with exit status {1} before it had answered", "imctl-agent 未作回答便以状态 {1} 退出")
      case .killed:
        Sentence("imctl-agent was ended by signal {1} before it had answered", "imctl-agent 未作回答便被信号 {1} 终止")
      }
    }
  }
}
