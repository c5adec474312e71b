import Agent
import AgentProtocol
import ArgumentParser

/// Where the password of a login comes from, and what is kept of it. It is never an argument: those are public.
struct SecretOptions: ParsableArguments {
  @Flag(help: "Read the password from standard input: its first line.")
  var passwordStdin = false

  @Option(
    help: ArgumentHelp(
      "Run this, and take the first line it prints; split into words like a shell, run without one.",
      valueName: "command"))
  var passwordCommand: String?

  @Option(
    help: ArgumentHelp(
      "What is kept: password (default), command (only what prints it), or none.", valueName: "what"))
  var store: StorePolicy?

  @Flag(help: "Keep nothing: --store none.")
  var noSave = false

  /// Absent: as before, else the agent's default.
  var policy: StorePolicy? {
    if noSave { return StorePolicy.none }
    return store ?? (passwordCommand == nil ? nil : .command)
  }

  func validate() throws {
    if passwordStdin && passwordCommand != nil {
      throw ValidationError(
        inLanguage(
          "--password-stdin and --password-command exclude each other.",
          "--password-stdin 和 --password-command 不能同时使用。"))
    }
    if noSave, let store, store != .none {
      throw ValidationError(
        inLanguage("--no-save and --store exclude each other.", "--no-save 和 --store 不能同时使用。"))
    }
    if passwordStdin && store == .command {
      throw ValidationError(
        inLanguage("--store command needs --password-command.", "--store command 需要 --password-command。"))
    }
  }

  /// The secret that is given now; nil when none is.
  func read(until deadline: Deadline) throws -> String? {
    if let passwordCommand { return try CredentialSource.run(passwordCommand, until: deadline) }
    if passwordStdin { return try Self.standardInput(until: deadline) }
    return nil
  }

  /// Asks for the password on the terminal.
  func ask(for account: String, until deadline: Deadline) throws -> String {
    guard Prompt.isPossible else {
      throw Failure.invalid(
        inLanguage(
          "no password: give --password-stdin or --password-command",
          "没有密码：请使用 --password-stdin 或 --password-command"))
    }
    let question = inLanguage("Password for ", "密码 ") + "\(peer: account): "
    guard let answer = try Prompt.secret(question, until: deadline), !answer.isEmpty else { throw Self.empty }
    return answer
  }

  private static var empty: Failure { .invalid(inLanguage("the password is empty", "密码为空")) }

  private static func standardInput(until deadline: Deadline) throws -> String {
    guard let password = try StandardInput.line(until: deadline), !password.isEmpty else { throw empty }
    return password
  }
}
