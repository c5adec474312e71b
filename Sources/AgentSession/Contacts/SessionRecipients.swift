import AgentProtocol
import AgentStore

extension Session {
  /// Finds the JIDs for the names by which a user calls recipients.
  package func resolve(_ parameters: RecipientsResolveMethod.Parameters) async throws(Failure)
    -> RecipientsResolveMethod.Result
  {
    let account = account.description
    let names: KnownNames
    do { names = try await localStore.read { try KnownNames(of: account, $0) } } catch {
      throw LocalStore.failure(error, localStore.path)
    }
    var jids: [String] = []
    for word in parameters.words { jids.append(try names.jid(word)) }
    return jids
  }
}
