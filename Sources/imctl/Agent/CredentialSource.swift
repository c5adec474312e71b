import AgentProtocol
import FoundationEssentials
import UserCommand

/// Runs `--password-command` in the command itself, so that its failure is reported before anything else happens.
enum CredentialSource {
  /// Runs `--token-command`, to read the JID from its output.
  static func token(_ line: String, until deadline: Deadline) throws -> (printed: String, jid: String?) {
    let command = try CredentialCommand(line)
    let printed = try AsyncWork.wait(until: deadline, else: .timedOut(.text("--token-command"))) {
      () async throws(Failure) in
      try await command.text()
    }
    return (printed, try jid(in: printed, until: deadline))
  }

  /// The JID in the output of a token command; nil if there is none.
  private static func jid(in printed: String, until deadline: Deadline) throws -> String? {
    struct Token: Decodable {
      let jid: String?
    }
    var text = printed[...]
    while text.first?.isWhitespace == true || text.first == "\u{FEFF}" { text.removeFirst() }
    guard let token = try? JSONDecoder().decode(Token.self, from: Data(text.utf8)), let jid = token.jid
    else { return nil }
    do {
      return try OneTimeAgent.ask(AccountResolveMethod.self, .init(account: jid), until: deadline).account
    } catch let failure as Failure where failure.name == .invalidParameter {
      return nil
    }
  }

  static func run(_ line: String, until deadline: Deadline) throws -> String {
    // The deadline limits the time.
    let command = try CredentialCommand(line, timeLimit: .seconds(TimeSpan.longest))
    return try AsyncWork.wait(until: deadline, else: .timedOut(.text("--password-command"))) {
      () async throws(Failure) in
      try await command.line()
    }
  }
}
