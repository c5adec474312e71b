import AgentLogin
import AgentProtocol
import AgentStore
import Logging

/// The stores, the events and the log that all sessions of an agent share.
package struct SessionResources: Sendable {
  package let accounts: AccountStore
  package let hub: any EventPublisher
  package let localStore: LocalStore
  package let log: Logger
  /// The language of texts for people, which servers are asked for.
  let language: String
  package let pace: ServerPace
  /// Called when a session may have become busy or idle.
  let activity: @Sendable () -> Void
  var patience = SessionPatience.standard
  var clock = SessionClock()

  package init(
    accounts: AccountStore, hub: any EventPublisher, localStore: LocalStore, log: Logger,
    language: String = "en", pace: ServerPace = ServerPace(), activity: @escaping @Sendable () -> Void = {}
  ) {
    self.accounts = accounts
    self.hub = hub
    self.localStore = localStore
    self.log = log
    self.language = language
    self.pace = pace
    self.activity = activity
  }
}
