import AgentProtocol

/// A presence of this account as the agent wants, shows and stores it.
///
/// `Presence` is the stanza, which may have any payload and a `show` that is not known here, and `PresenceStatus` is what
/// commands are told, with whether the server has it.
package struct Availability: Codable, Sendable, Equatable {
  package var show: PresenceShow = .online
  package var status: String?
  /// −128…127.
  package var priority = 0

  package init(show: PresenceShow = .online, status: String? = nil, priority: Int = 0) {
    self.show = show
    self.status = status
    self.priority = priority
  }
}
