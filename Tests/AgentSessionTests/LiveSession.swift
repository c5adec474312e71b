import AgentProtocol
import Logging
import TestSupport
import XMPPStanza

@testable import AgentService
@testable import AgentSession
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
    var resources = SessionResources(
      accounts: AccountStore(directory: home.path + "/config"), hub: hub,
      localStore: try store ?? LocalStore(path: home.paths.database), log: Logger(label: "test"))
    resources.patience = patience
    self.init(of: try JID(account), resources)
  }
}
