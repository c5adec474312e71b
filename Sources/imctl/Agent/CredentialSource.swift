import AgentProtocol
import AgentSystem

/// `--password-command`, run by the command itself: a wrong one is told before anything else happens.
enum CredentialSource {
  /// `--token-command`, to learn from it who logs in.
  static func token(_ line: String, until deadline: Deadline) throws -> (printed: String, jid: String?) {
    let command = try CredentialCommand(line)
    return try Foreground.wait(until: deadline, else: .timedOut("--token-command")) {
      () async throws(Failure) in
      try await command.answer()
    }
  }

  static func run(_ line: String, until deadline: Deadline) throws -> String {
    // The deadline is the bound.
    let command = try CredentialCommand(line, timeLimit: .seconds(TimeSpan.longest))
    return try Foreground.wait(until: deadline, else: .timedOut("--password-command")) {
      () async throws(Failure) in
      try await command.secret()
    }
    .value
  }
}
