import AgentProtocol
import ArgumentParser
import Terminal
import UserCommand

/// The sources of a login's secret, and how it is stored. It is never an argument, because other users can read those.
struct SecretOptions: ParsableArguments {
  @OptionGroup var password: PasswordOptions

  @Flag(help: "Read the token from standard input (first line).")
  var tokenStdin = false

  @Option(
    help: ArgumentHelp(
      """
      Let the agent run this command for each attempt, unless its last token is still valid. The command prints a \
      token, or JSON: {"token":…,"expires":RFC 3339,"jid":…}.
      """, valueName: "command"))
  var tokenCommand: String?

  @Flag(help: "Read the JSON document for --auth function from standard input (all of it).")
  var payloadStdin = false

  @Option(
    help: ArgumentHelp(
      """
      What to store: password (default: everything), keys (only the SCRAM keys), token (only the server's token), \
      command (only the command) or none.
      """,
      valueName: "what"))
  var store: StorePolicy?

  @Flag(help: "Store no credentials; same as --store none.")
  var noSave = false

  /// Absent: the stored policy, or the agent's default.
  var policy: StorePolicy? {
    if noSave { return StorePolicy.none }
    return store ?? (password.passwordCommand == nil ? nil : .command)
  }

  /// Whether a secret or its source was given.
  var isGiven: Bool { password.isGiven || hasToken || payloadStdin }
  private var hasToken: Bool { tokenStdin || tokenCommand != nil }

  func validate() throws {
    let given = [
      ("--password-stdin", password.passwordStdin), ("--password-command", password.passwordCommand != nil),
      ("--token-stdin", tokenStdin), ("--token-command", tokenCommand != nil),
      ("--payload-stdin", payloadStdin),
    ].filter(\.1).map(\.0)
    // A token may be given together with a token command, in case the command fails.
    if given.count > 1, given != ["--token-stdin", "--token-command"] {
      throw ValidationError(
        inLanguage(
          "\(given[0]) and \(given[1]) cannot be used together.", "\(given[0]) 和 \(given[1]) 不能同时使用。"))
    }
    if noSave, let store, store != .none {
      throw ValidationError(
        inLanguage("--no-save and --store cannot be used together.", "--no-save 和 --store 不能同时使用。"))
    }
    if store == .command, password.passwordStdin || payloadStdin || (tokenStdin && tokenCommand == nil) {
      throw ValidationError(
        inLanguage(
          "--store command requires --password-command or --token-command.",
          "--store command 需要 --password-command 或 --token-command。"))
    }
  }

  /// Writes the given secrets into the parameters.
  func read(into parameters: inout LoginMethod.Parameters, until deadline: Deadline) throws {
    // The agent runs the command; here, only its words are checked.
    if let tokenCommand { _ = try CredentialCommand(tokenCommand) }
    parameters.passwordCommand = password.passwordCommand
    parameters.tokenCommand = tokenCommand
    parameters.password = try secret(until: deadline)
    if tokenStdin {
      parameters.token = try StandardInput.secret(until: deadline, orElse: Self.emptyToken)
    }
  }

  private func secret(until deadline: Deadline) throws -> String? {
    if let given = try password.read(until: deadline) { return given }
    return payloadStdin ? try PayloadDocument.read(until: deadline) : nil
  }

  /// Asks for a secret of this kind on the terminal.
  func ask(for account: String, _ kind: LoginKind, until deadline: Deadline) throws -> String {
    guard Prompt.isPossible else {
      throw Failure.invalid(
        kind.usesToken
          ? .usage(.noTokenGiven) : .usage(.noPasswordGiven))
    }
    let question =
      (kind.usesToken ? inLanguage("Token for ", "令牌 ") : inLanguage("Password for ", "密码 "))
      + "\(peer: account): "
    guard let answer = try Prompt.secret(question, until: deadline), !answer.isEmpty else {
      throw Failure.invalid(PasswordOptions.empty)
    }
    return answer
  }

  static let emptyToken = FailureDetail.usage(.emptyToken)
}
