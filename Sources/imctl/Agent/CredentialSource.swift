import Agent
import AgentProtocol

enum CredentialSource {
  static func run(_ command: String) throws -> String {
    throw Failure(.credentialSourceFailed, stage: .input)
  }
}
