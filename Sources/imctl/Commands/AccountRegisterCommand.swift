import AgentProtocol
import ArgumentParser
import Terminal

/// `imctl account register`: registers an account at a server with open registration.
struct AccountRegisterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "register",
    abstract: "Create an account on a server that allows anybody to register.",
    discussion: """
      The password comes from --password-stdin or --password-command, or from a prompt on a terminal, which asks for \
      it twice. If the server requires more information, give it with --form; on a terminal, the command asks for what \
      is missing.

      The command does not log in and stores no secret. It stores the JID and the connection options, so that `imctl \
      login` needs only the password.
      """)

  struct Answer: Encodable {
    let account: String
    let registered = true
  }

  @Argument(help: ArgumentHelp("The new account, as user@domain.", valueName: "JID"))
  var jid: String

  @OptionGroup(title: "Password") var password: PasswordOptions

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Fill in this field of the server's registration form. Can be repeated.", valueName: "name=value"))
  var form: [String] = []

  @OptionGroup(title: "Connection (stored with the account)") var connection: ConnectionArguments
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this many seconds (0: never).", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    let answers = try Self.answers(form)
    let options = try connection.options()
    let account = try OneTimeAgent.ask(
      AccountResolveMethod.self, .init(account: jid), until: deadline
    ).account
    var parameters = AccountRegisterMethod.Parameters(
      account: account, password: try secret(for: account, until: deadline), answers: answers,
      asks: Prompt.isPossible, timeout: deadline.secondsLeft ?? 0)
    parameters.options = options
    let registered = try OneTimeAgent.ask(
      AccountRegisterMethod.self, parameters, until: deadline.ofAgent, onStep: output.show,
      onNotice: { notice in
        if let text = notice.instructions {
          output.note(inLanguage("the server says: ", "服务器说：") + "\(peer: text)")
        }
        if let question = notice.question {
          try OneTimeAgent.answerQuestion(with: Self.ask(question, until: deadline), until: deadline.ofAgent)
        }
      })
    try output.data(
      Answer(account: registered.account), text: "\(peer: registered.account) registered")
    output.note(
      inLanguage("to log in: imctl login ", "登录：imctl login ") + "\(peer: registered.account)")
  }

  private func secret(for account: String, until deadline: Deadline) throws -> String {
    if let given = try password.read(until: deadline) { return given }
    return try PasswordOptions.askTwice(
      inLanguage("Password for ", "密码 ") + "\(peer: account): ",
      options: "--password-stdin, --password-command", until: deadline)
  }

  /// Parses `name=value`, where the value may be empty and may contain `=`.
  static func answers(_ words: [String]) throws -> [String: [String]] {
    var answers: [String: [String]] = [:]
    for word in words {
      guard let mark = word.firstIndex(of: "="), mark > word.startIndex else {
        throw Failure.invalid(
          .usage(.formSyntax, word))
      }
      let name = String(word[..<mark])
      guard name != "username" && name != "password" else {
        throw Failure.invalid(
          .usage(.formName, name))
      }
      answers[name, default: []].append(String(word[word.index(after: mark)...]))
    }
    return answers
  }

  /// Returns nil without a terminal; the failure then names the missing field.
  private static func ask(
    _ question: AgentNotice.Question, until deadline: Deadline
  ) throws -> String? {
    guard Prompt.isPossible else { return nil }
    var words = question.label ?? question.name
    let hints = question.options + question.media
    if !hints.isEmpty { words += " (\(hints.joined(separator: ", ")))" }
    let text = "\(peer: words): "
    let answer =
      question.isSecret
      ? try Prompt.secret(text, until: deadline) : try Prompt.line(text, until: deadline)
    return answer?.isEmpty == false ? answer : nil
  }
}
