import AgentProtocol
import ArgumentParser
import UserCommand

/// The kind of login, and its options other than the secret.
struct KindOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How to log in (default: password). With anonymous, JID is a domain. Stored with the account.",
      valueName: "kind"))
  var auth: LoginKind?

  @Option(help: ArgumentHelp("With --auth email: the domain of the account.", valueName: "name"))
  var domain: String?

  @Option(
    help: ArgumentHelp("Authenticate with this name instead of the local part of the JID.", valueName: "name")
  )
  var authcid: String?

  @Option(
    name: .customLong("cert"),
    help: ArgumentHelp("Client certificate for --auth external (PEM).", valueName: "file"),
    completion: .file())
  var certFile: String?

  @Option(
    name: .customLong("key"),
    help: ArgumentHelp("Private key of the client certificate (PEM).", valueName: "file"), completion: .file()
  )
  var keyFile: String?

  @Option(
    help: ArgumentHelp(
      """
      Login extension: a text for the service that checks the login, at most 1024 UTF-16 units. It is sent with \
      SASL2 and OAUTHBEARER. With --auth third-party and no token, it is the password of PLAIN. With other \
      mechanisms it is not sent, and a note says so.
      """,
      valueName: "text"))
  var loginExt: String?

  @Option(
    help: ArgumentHelp(
      """
      Run this command for each attempt and use its output instead of --login-ext, unless the output is empty.
      """,
      valueName: "command"))
  var loginExtCommand: String?

  @Flag(
    help: """
      With --auth third-party: send token and login extension as one JSON object in place of the password.
      """)
  var extInPassword = false

  func validate() throws {
    for (name, value) in [
      ("--domain", domain), ("--authcid", authcid), ("--cert", certFile), ("--key", keyFile),
      ("--login-ext-command", loginExtCommand),
    ] where value?.isEmpty == true {
      throw ValidationError(inLanguage("The value of \(name) is empty.", "\(name) 的值为空。"))
    }
    if let auth, certFile ?? keyFile != nil, auth != .external { throw Self.certificateIsForExternal }
    if (certFile == nil) != (keyFile == nil) {
      throw ValidationError(inLanguage("--cert and --key must be used together.", "--cert 和 --key 必须同时使用。"))
    }
    if auth == .external && certFile == nil {
      throw ValidationError(
        inLanguage("--auth external requires --cert and --key.", "--auth external 需要 --cert 和 --key。"))
    }
    if (auth == .email) != (domain != nil) {
      throw ValidationError(
        inLanguage("--auth email and --domain must be used together.", "--auth email 和 --domain 必须同时使用。"))
    }
    if extInPassword && auth != .thirdParty {
      throw ValidationError(
        inLanguage(
          "--ext-in-password requires --auth third-party.", "--ext-in-password 用于 --auth third-party。")
      )
    }
    if let loginExt, loginExt.utf16.count > 1024 {
      throw ValidationError(
        inLanguage(
          "--login-ext has \(loginExt.utf16.count) UTF-16 units; at most 1024 are allowed.",
          "--login-ext 有 \(loginExt.utf16.count) 个 UTF-16 单元，最多 1024 个。"))
    }
  }

  static var certificateIsForExternal: ValidationError {
    ValidationError(inLanguage("--cert requires --auth external.", "--cert 用于 --auth external。"))
  }

  /// Whether an option was given that only a login needs.
  var hasDetails: Bool {
    [authcid, certFile, keyFile, loginExt, loginExtCommand].contains { $0 != nil } || extInPassword
  }

  /// The account for the user's argument. With `--auth email`, an e-mail address becomes the local part of the JID
  /// (XEP-0106).
  func account(_ name: String, until deadline: Deadline) throws -> String {
    guard auth == .email, let domain else { return name }
    return try OneTimeAgent.ask(
      AccountResolveMethod.self, .init(account: name, domain: domain), until: deadline
    ).account
  }

  func write(into parameters: inout LoginMethod.Parameters) throws {
    // The agent runs the command; here, only its words are checked.
    if let loginExtCommand { _ = try CredentialCommand(loginExtCommand) }
    parameters.auth = auth ?? (certFile == nil ? nil : .external)
    parameters.authcid = authcid
    parameters.certFile = try certFile.map(ConnectionArguments.absolute)
    parameters.keyFile = try keyFile.map(ConnectionArguments.absolute)
    parameters.loginExt = loginExt
    parameters.loginExtCommand = loginExtCommand
    parameters.extInPassword = extInPassword
  }
}

extension LoginKind: ExpressibleByArgument {}
