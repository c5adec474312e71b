import AgentErrand
import AgentLogin
import AgentProtocol
import ArgumentParser
import XMPPSASL

/// `imctl account register`: makes an account at a server that lets anybody do so.
struct AccountRegisterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "register",
    abstract: "Make an account at a server that lets anybody do so.",
    discussion: """
      The password comes from --password-stdin, --password-command, or is asked for twice on a terminal. What \
      else the server wants to know is given with --form, or asked for on a terminal. Does not log in, and \
      stores no secret; JID and connection options are kept, so that `imctl login` needs the password only.
      """)

  struct Answer: Encodable {
    let account: String
    let registered = true
  }

  @Argument(help: ArgumentHelp("user@domain.", valueName: "JID"))
  var jid: String

  @OptionGroup(title: "Secret") var password: PasswordOptions

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("An answer to what the server asks for; may be repeated.", valueName: "name=value"))
  var form: [String] = []

  @OptionGroup(title: "Connection, kept with the account") var connection: ConnectionArguments
  @OptionGroup var output: OutputOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Bound of the whole command, 0 for none.", valueName: "seconds"))
  var timeout = Timeout(seconds: 60)

  func run() throws {
    Interrupt.install()
    let deadline = Deadline(timeout)
    let answers = try Self.answers(form)
    let options = try connection.options()
    let stream = try ServerStream(
      to: jid, options: options, timeout: timeout.seconds, language: OutputOptions.language
    ) { [output] in output.show($0) }
    let registration = try AccountRegistration(on: stream)
    let secret = try self.secret(for: registration.account, until: deadline)
    try Foreground.wait(
      until: deadline.ofStream, else: .timedOut(inLanguage("the server", "服务器")),
      cancelled: Foreground.mayBeDone
    ) {
      [output] () async throws(Failure) in
      try await registration.register(password: Secret(secret), answers: answers) { text in
        output.note(inLanguage("the server says: ", "服务器说：") + "\(peer: text)")
      } ask: { question throws(Failure) in
        try Self.ask(question, until: deadline)
      }
    }
    try StoredAccounts.store().registered(registration.account, options: options)
    try output.data(
      Answer(account: registration.account), text: "\(peer: registration.account) registered")
    output.note(
      inLanguage("log in: imctl login ", "登录：imctl login ") + "\(peer: registration.account)")
  }

  private func secret(for account: String, until deadline: Deadline) throws -> String {
    if let given = try password.read(until: deadline) { return given }
    return try PasswordOptions.askTwice(
      inLanguage("Password for ", "密码 ") + "\(peer: account): ",
      options: "--password-stdin, --password-command", until: deadline)
  }

  /// `name=value`, where the value may be empty and may contain `=`.
  static func answers(_ words: [String]) throws -> [String: [String]] {
    var answers: [String: [String]] = [:]
    for word in words {
      guard let mark = word.firstIndex(of: "="), mark > word.startIndex else {
        throw Failure.invalid(
          inLanguage("--form takes name=value, not \(word)", "--form 的格式为 名称=值，而不是 \(word)"))
      }
      let name = String(word[..<mark])
      guard name != "username" && name != "password" else {
        throw Failure.invalid(
          inLanguage("\(name) is no answer for --form", "--form 不接受 \(name)"))
      }
      answers[name, default: []].append(String(word[word.index(after: mark)...]))
    }
    return answers
  }

  /// Nil without a terminal: then the failure names what is missing.
  private static func ask(
    _ question: AccountRegistration.Question, until deadline: Deadline
  ) throws(Failure) -> String? {
    guard Prompt.isPossible else { return nil }
    var words = question.label ?? question.name
    let hints = question.options + question.media
    if !hints.isEmpty { words += " (\(hints.joined(separator: ", ")))" }
    do {
      let text = "\(peer: words): "
      let answer =
        question.isSecret
        ? try Prompt.secret(text, until: deadline) : try Prompt.line(text, until: deadline)
      return answer?.isEmpty == false ? answer : nil
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(.internalError, stage: .input)
    }
  }
}
