import AgentProtocol
import AgentStore

extension Session {
  /// Whom the words mean that a user calls recipients by.
  func resolve(_ parameters: RecipientsResolveMethod.Parameters) async throws(Failure)
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
