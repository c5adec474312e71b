import AgentProtocol
import ArgumentParser

extension CompletionKind {
  /// The stored accounts.
  static var accounts: CompletionKind { .custom { _, _, _ in Completions.accounts() } }

  /// The contacts of the account that the command line names: their JIDs, and their names that are one word.
  static var contacts: CompletionKind {
    .custom { words, _, _ in Completions.contacts(of: account(in: words)) }
  }

  /// The resources of the account's devices that are online.
  static var resources: CompletionKind {
    .custom { words, _, _ in Completions.resources(of: account(in: words)) }
  }

  /// The ids of the messages in the outbox.
  static var outboxIDs: CompletionKind {
    .custom { words, _, _ in Completions.outboxIDs(of: account(in: words)) }
  }

  /// The value of `-a` or `--account`.
  private static func account(in words: [String]) -> String? {
    for (option, value) in zip(words, words.dropFirst()) where ["-a", "--account"].contains(option) {
      return value
    }
    return words.lazy.compactMap { word in
      word.hasPrefix("--account=") ? String(word.drop { $0 != "=" }.dropFirst()) : nil
    }.first
  }
}

/// The values that a shell proposes. They come from a running agent and from the local store; no agent is started, and
/// where nothing is known nothing is proposed.
private enum Completions {
  /// Completing must not keep the user from typing.
  private static var deadline: Deadline { Deadline(Timeout(seconds: 2)) }
  private static let maximum = 1000

  static func accounts() -> [String] {
    let accounts = try? OneTimeAgent.ask(AccountListMethod.self, EmptyObject(), until: deadline)
    return (accounts ?? []).map(\.account)
  }

  static func contacts(of account: String?) -> [String] {
    let page = try? OneTimeAgent.ask(ContactsListMethod.self, .init(account: account), until: deadline)
    let contacts = (page?.contacts ?? []).prefix(maximum)
    let names = contacts.compactMap(\.name).filter { name in
      !name.isEmpty
        && name.unicodeScalars.allSatisfy {
          $0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "-"
        }
    }
    return names + contacts.map(\.jid)
  }

  static func resources(of account: String?) -> [String] {
    let answer = try? AgentClient.session(start: .never, until: deadline) { agent in
      try agent.answer(to: agent.send(DevicesListMethod.self, .init(account: account, timeout: 2)))
    }
    return (answer?.devices ?? []).compactMap(\.resource)
  }

  static func outboxIDs(of account: String?) -> [String] {
    let answer = try? AgentClient.session(start: .never, until: deadline) { agent in
      try agent.answer(to: agent.send(OutboxListMethod.self, .init(account: account)))
    }
    return (answer ?? []).map(\.id)
  }
}
