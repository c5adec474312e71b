import AgentProtocol
import Logging
import TestSupport
import XMPPStanza

@testable import Agent
@testable import AgentStore

extension Session {
  /// A session of an account of a test's server, with its files in `home`.
  ///
  /// - Parameter store: the local store, one of its own in `home` where absent.
  init(
    _ account: String, home: TemporaryDirectory, hub: EventHub = EventHub(cursor: 0),
    store: LocalStore? = nil,
    patience: SessionPatience = .standard
  ) throws {
    self.init(
      account: try JID(account), hub: hub, accounts: AccountStore(directory: home.path + "/config"),
      localStore: try store ?? LocalStore(path: home.paths.database), log: Logger(label: "test"),
      language: "en", patience: patience)
  }
}
