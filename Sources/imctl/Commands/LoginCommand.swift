import AgentProtocol
import ArgumentParser
import Glibc
import Terminal

/// `imctl login`: brings an account online, which remains online after this command has ended.
struct LoginCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Go online and stay online.",
    discussion: """
      Returns when the session is in sync with the server; from then on, the agent keeps it. If the account is already \
      online with the same credentials and connection options, the command does nothing and exits with status 0.

      The password comes from --password-stdin, --password-command, the stored account, or a prompt on a terminal, in \
      this order. A given password is always verified with the server. A token comes from --token-stdin or \
      --token-command; if the command prints no token, the one from standard input is tried.
      """)

  @Argument(
    help: ArgumentHelp(
      "The account, as user@domain. If omitted, the account of the last login is used.", valueName: "JID"),
    completion: .accounts)
  var jid: String?

  @OptionGroup(title: "Kind of login") var kind: KindOptions
  @OptionGroup(title: "Credentials") var secret: SecretOptions
  @OptionGroup(title: "Automatic login") var automatic: AutoLoginOptions
  @OptionGroup(title: "How the account's other devices see this device (stored with the account)") var device:
    DeviceOptions
  @OptionGroup(title: "Connection (stored with the account)") var connection: ConnectionArguments

  @Option(help: ArgumentHelp("Set this presence.", valueName: "SHOW"))
  var presence: PresenceShow?

  @Flag(help: "Send no presence.")
  var noPresence = false

  @Flag(help: "Return after the login, before the session is in sync.")
  var noSync = false

  @Flag(
    help:
      """
      Do not log in; list what the server of JID offers to log in with. JID can be a domain, but some servers offer \
      more for a JID.
      """
  )
  var listMechanisms = false

  @Flag(help: "Do not replace a session that is online; exit with status 75 instead.")
  var noReplace = false

  @Flag(help: "Keep the session in this process, without an agent, until a signal.")
  var foreground = false

  @OptionGroup var account: AccountOption
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Stop after this many seconds (default: 30; with --auto: never). 0: never, and retry after network problems.
      """, valueName: "seconds"))
  var timeout: Timeout?

  func validate() throws {
    if jid?.isEmpty == true { throw ValidationError(inLanguage("The JID is empty.", "JID 为空。")) }
    if let jid, let account = account.account, jid != account {
      throw ValidationError(
        inLanguage("JID and --account name different accounts.", "JID 和 --account 指定了不同的账号。"))
    }
    if presence != nil && noPresence {
      throw ValidationError(
        inLanguage(
          "--presence and --no-presence cannot be used together.", "--presence 和 --no-presence 不能同时使用。"))
    }
    if automatic.auto && (secret.isGiven || kind.certFile != nil || kind.auth == .anonymous) {
      throw ValidationError(
        inLanguage("--auto uses the stored credentials; others cannot be given.", "--auto 使用已存储的凭据，不能另行指定凭据。")
      )
    }
    if automatic.detach && foreground {
      throw ValidationError(
        inLanguage("--detach and --foreground cannot be used together.", "--detach 和 --foreground 不能同时使用。"))
    }
    if listMechanisms,
      secret.isGiven || secret.policy != nil || automatic.isGiven || device.identity != nil || kind.hasDetails
        || isSession
    {
      throw ValidationError(
        inLanguage(
          "--list-mechanisms does not log in; it can only be used with connection options.",
          "--list-mechanisms 不会登录，只能与连接选项一起使用。"))
    }
    try checkKind()
  }

  /// Whether an option for the future session was given.
  private var isSession: Bool { presence != nil || noPresence || noSync || noReplace || foreground }

  /// Checks that the given secret is of the named kind.
  private func checkKind() throws {
    guard let auth = kind.auth else {
      if secret.payloadStdin {
        throw ValidationError(
          inLanguage("--payload-stdin requires --auth function.", "--payload-stdin 用于 --auth function。"))
      }
      if secret.isGiven && kind.certFile != nil { throw KindOptions.certificateIsForExternal }
      return
    }
    let isPassword = secret.password.isGiven
    let isToken = secret.tokenStdin || secret.tokenCommand != nil
    let fits =
      (!isPassword || auth == .password || auth == .email) && (!isToken || auth.usesToken)
      && (!secret.payloadStdin || auth == .function)
    if !fits {
      throw ValidationError(
        inLanguage(
          "--auth \(auth.rawValue) cannot be used with this kind of secret.",
          "--auth \(auth.rawValue) 与所给的凭据类型不符。"))
    }
  }

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout ?? Timeout(seconds: automatic.auto ? 0 : 30))
    if listMechanisms {
      return try MechanismList.show(
        chosenJID(until: deadline), connection.options(), output, until: deadline)
    }
    do {
      try logIn(until: deadline)
    } catch let failure as Failure where output.json {
      throw FailedLogin(failure)
    }
  }

  private func logIn(until deadline: Deadline) throws {
    let token = try tokenForNobody(until: deadline)
    var parameters = LoginMethod.Parameters(account: try token?.jid ?? chosenJID(until: deadline))
    parameters.tokenAnswer = token?.printed
    parameters.options = try connection.options()
    try kind.write(into: &parameters)
    parameters.device = device.identity
    parameters.store = secret.policy
    try automatic.write(into: &parameters)
    parameters.presence = presence
    parameters.noPresence = noPresence
    parameters.noSync = noSync
    parameters.noReplace = noReplace
    parameters.wire = output.verbose > 1
    try secret.read(into: &parameters, until: deadline)
    if automatic.auto {
      try allowAuto(parameters.account, until: deadline)
    } else if try !secret.isGiven && needsSecret(parameters, until: deadline) {
      try ask(for: &parameters, until: deadline)
    }
    if foreground { return try stay(parameters, until: deadline) }
    try logIn(parameters, until: deadline)
  }

  private func logIn(_ parameters: LoginMethod.Parameters, until deadline: Deadline) throws {
    var parameters = parameters
    var watch = WatchMethod.Parameters()
    watch.account = parameters.account
    watch.events =
      ["state", "dataReady", "success", "tokenUnavailable", "kicked", "loginRequired"]
      + (output.verbose > 1 ? ["wire"] : [])
    let progress = Progress(
      inLanguage("logging in…", "正在登录…"), wanted: !output.json && !output.quiet && output.verbose == 0)
    var succeeded = false
    var cursor: Int64 = 0
    let result = try AgentClient.session(start: .whenNoneRuns, until: deadline.atMost(.ofRequest)) { agent in
      try agent.greet()
      parameters.timeout = deadline.secondsLeft ?? 0
      // The agent observes the time limit. This deadline is for an agent that does not answer at all.
      agent.deadline = deadline.ofAgent
      _ = try agent.send(WatchMethod.self, watch)
      return try agent.answer(to: agent.send(LoginMethod.self, parameters)) { event in
        if case .success = event.body { succeeded = true }
        cursor = event.cursor
        try show(event)
      }
    }
    progress.end()
    guard let result else { return }
    guard let success = result.success else {
      if output.json { try output.data(["result": LoginResult.logining], text: "") }
      return output.note(inLanguage("logging in in the background", "正在后台登录"))
    }
    if output.json && !succeeded {
      let event = Event(
        account: success.userId, time: Timestamp.now(), cursor: cursor, body: .success(success))
      try output.data(event, text: "")
    }
    if !output.json {
      let facts = [result.mechanism, result.tls?.version].compactMap { $0 }.joined(separator: ", ")
      try output.data(
        result, text: "\(peer: success.fullJID) online" + (facts.isEmpty ? "" : " (\(peer: facts))"))
      if result.already { output.note(inLanguage("the account was already online", "此前已在线")) }
    }
    if let late = success.late {
      let parts = late.map(\.rawValue).joined(separator: " ")
      output.note(
        inLanguage(
          "the session is not in sync yet; still in progress: \(parts)", "会话尚未同步完成，仍在进行：\(parts)"))
    }
    noteShortfall(result.kept)
    if result.leavesOutExtension == true {
      output.note(
        inLanguage(
          "the login extension was not sent: the mechanism cannot carry it",
          "未把登录扩展发送给服务器：所用机制无法携带"))
    }
  }

  /// Notes that the requested secret could not be stored, because the server did not provide it.
  private func noteShortfall(_ kept: StorePolicy?) {
    guard kept != nil else { return }
    output.note(
      secret.store == .keys
        ? inLanguage(
          "no credentials were stored: the server did not use SCRAM", "未保存任何凭据：服务器没有使用 SCRAM")
        : inLanguage(
          "no credentials were stored: the server issued no token", "未保存任何凭据：服务器没有给出令牌"))
  }

  private func stay(_ parameters: LoginMethod.Parameters, until deadline: Deadline) throws {
    try IdleAgent.stop(until: deadline.atMost(.ofRequest))
    var parameters = parameters
    parameters.timeout = deadline.secondsLeft ?? 0
    try ForegroundSession.run(parameters) { event in
      try? show(event)
      if case .success(let success) = event.body, !output.json {
        try? output.data(success, text: "\(peer: success.fullJID) online")
      }
    }
  }

  private func show(_ event: Event) throws {
    if output.json {
      try output.data(event, text: "")
    } else if case .state(let change) = event.body {
      output.step(EventText.step(change))
    } else if case .wire(let line) = event.body {
      output.step(EventText.wire(line))
    } else if case .tokenUnavailable(let cause) = event.body {
      output.note("\(peer: cause.message)")
    } else if case .kicked = event.body {
      output.note(EventText.body(event.body))
    } else if case .loginRequired = event.body {
      output.step(EventText.body(event.body))
    }
  }

  /// The output of the token command if no JID was given, since it may name the JID.
  private func tokenForNobody(until deadline: Deadline) throws -> (printed: String, jid: String?)? {
    guard jid == nil, account.account == nil, let command = secret.tokenCommand else { return nil }
    return try CredentialSource.token(command, until: deadline)
  }

  /// The given JID, or that of the last login, which is only proposed if there is a terminal.
  private func chosenJID(until deadline: Deadline) throws -> String {
    if let jid = jid ?? account.account { return try kind.account(jid, until: deadline) }
    if kind.auth == .anonymous || kind.auth == .email {
      throw Failure.invalid(
        kind.auth == .email
          ? .usage(.noEmail) : .usage(.noDomain))
    }
    let last = try OneTimeAgent.ask(AccountLastMethod.self, EmptyObject(), until: deadline).account
    if Prompt.isPossible && !automatic.auto {
      let answer = try Prompt.line(last.map { "JID [\(peer: $0)]: " } ?? "JID: ", until: deadline) ?? ""
      if !answer.isEmpty {
        guard listMechanisms || answer.contains("@") else {
          throw Failure.invalid(
            .usage(.notJID, answer))
        }
        return answer
      }
    }
    if automatic.auto && last == nil { try allowAuto(nil, until: deadline) }
    guard let last else { throw Failure.invalid(.usage(.noJID)) }
    return last
  }

  /// Fails if automatic login is not allowed, before any agent is started.
  private func allowAuto(_ account: String?, until deadline: Deadline) throws {
    _ = try OneTimeAgent.ask(
      AccountAllowAutoMethod.self, .init(account: account, forced: automatic.forced), until: deadline)
  }

  /// Whether a secret has to be asked for: no usable one is stored, and the account is not online.
  private func needsSecret(_ parameters: LoginMethod.Parameters, until deadline: Deadline) throws -> Bool {
    switch kind.auth {
    case .anonymous, .external: return false
    case .thirdParty where (kind.loginExt ?? kind.loginExtCommand) != nil: return false
    default: break
    }
    if kind.certFile != nil { return false }
    let stored = try OneTimeAgent.ask(
      AccountResolveMethod.self, .init(account: parameters.account, kind: kind.auth), until: deadline)
    if stored.hasSecret { return false }
    let sessions = try? AgentClient.session(start: .never, until: deadline.atMost(.ofRequest)) {
      try $0.answer(to: $0.send(StatusMethod.self, .init(account: parameters.account)))
    }
    return !(sessions ?? []).contains(where: \.isOnline)
  }

  private func ask(for parameters: inout LoginMethod.Parameters, until deadline: Deadline) throws {
    let kind =
      try kind.auth
      ?? OneTimeAgent.ask(
        AccountResolveMethod.self, .init(account: parameters.account), until: deadline
      ).kind
    if kind == .function {
      throw Failure.invalid(.usage(.noPayload))
    }
    let answer = try secret.ask(for: parameters.account, kind, until: deadline)
    if kind.usesToken { parameters.token = answer } else { parameters.password = answer }
  }
}
