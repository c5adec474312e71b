import AgentProtocol
import ArgumentParser
import Terminal
import UserCommand

/// Where the secret of a login comes from, and what is kept of it. It is never an argument: those are public.
struct SecretOptions: ParsableArguments {
  @OptionGroup var password: PasswordOptions

  @Flag(help: "Read a token from standard input: its first line.")
  var tokenStdin = false

  @Option(
    help: ArgumentHelp(
      """
      The agent runs this for every attempt, unless its last token is still good: it prints a token, or JSON \
      {"token":…,"expires":RFC 3339,"jid":…}.
      """, valueName: "command"))
  var tokenCommand: String?

  @Flag(help: "Read the JSON document of --auth function from standard input, all of it.")
  var payloadStdin = false

  @Option(
    help: ArgumentHelp(
      "What is kept: password (default: all), keys (of SCRAM), token (of the server), command, or none.",
      valueName: "what"))
  var store: StorePolicy?

  @Flag(help: "Keep nothing: --store none.")
  var noSave = false

  /// Absent: as before, else the agent's default.
  var policy: StorePolicy? {
    if noSave { return StorePolicy.none }
    return store ?? (password.passwordCommand == nil ? nil : .command)
  }

  /// A secret or where it comes from is given.
  var isGiven: Bool { password.isGiven || hasToken || payloadStdin }
  private var hasToken: Bool { tokenStdin || tokenCommand != nil }

  func validate() throws {
    let given = [
      ("--password-stdin", password.passwordStdin), ("--password-command", password.passwordCommand != nil),
      ("--token-stdin", tokenStdin), ("--token-command", tokenCommand != nil),
      ("--payload-stdin", payloadStdin),
    ].filter(\.1).map(\.0)
    // A token may be given beside the command that prints one, for when that has none.
    if given.count > 1, given != ["--token-stdin", "--token-command"] {
      throw ValidationError(
        inLanguage(
          "\(given[0]) and \(given[1]) exclude each other.", "\(given[0]) 和 \(given[1]) 不能同时使用。"))
    }
    if noSave, let store, store != .none {
      throw ValidationError(
        inLanguage("--no-save and --store exclude each other.", "--no-save 和 --store 不能同时使用。"))
    }
    if store == .command, password.passwordStdin || payloadStdin || (tokenStdin && tokenCommand == nil) {
      throw ValidationError(
        inLanguage(
          "--store command needs --password-command or --token-command.",
          "--store command 需要 --password-command 或 --token-command。"))
    }
  }

  /// Writes the secrets that are given now into the parameters.
  func read(into parameters: inout LoginMethod.Parameters, until deadline: Deadline) throws {
    // Only its words are looked at: the agent runs it.
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

  /// Asks for the secret of a kind on the terminal.
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
