import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOConcurrencyHelpers

/// What the accounts at one server have in common: how many come back to it, and until when none may.
///
/// A server counts failed logins by address and not by account, and goes on doing so over a restart of the agent: so
/// the end of a rate limit is kept in the store.
package final class ServerPace: Sendable {
  private struct Server {
    var accounts: Set<String> = []
    /// Seconds since 1970.
    var closedUntil: Double?
  }

  /// A limit that lasts longer was written by a clock that was wrong.
  private static let longest = 3600.0

  private let servers: NIOLockedValueBox<[String: Server]>
  private let store: LocalStore?

  /// - Parameter store: where the limits are kept; blocks on the disk.
  package init(store: LocalStore? = nil) {
    self.store = store
    let limits = (try? store?.rateLimits()) ?? [:]
    servers = NIOLockedValueBox(limits.mapValues { Server(closedUntil: $0) })
  }

  /// An account is to be online at a server; gives how many are.
  @discardableResult
  package func join(_ account: String, at server: String) -> Int {
    servers.withLockedValue { servers in
      servers[server, default: Server()].accounts.insert(account)
      return servers[server]?.accounts.count ?? 1
    }
  }

  package func leave(_ account: String, at server: String) {
    servers.withLockedValue { _ = $0[server]?.accounts.remove(account) }
  }

  /// Seconds that the server is left alone for, from a time on (seconds since 1970); nil where it is not.
  package func pause(of server: String, at now: Double) -> Double? {
    servers.withLockedValue { servers in
      guard let until = servers[server]?.closedUntil, until > now, until - now <= Self.longest else {
        return nil
      }
      return until - now
    }
  }

  /// The server asked for a slower pace: nobody of this agent comes to it before a time (seconds since 1970).
  package func close(_ server: String, until: Double) async {
    let isLonger = servers.withLockedValue { servers in
      guard until > servers[server]?.closedUntil ?? 0 else { return false }
      servers[server, default: Server()].closedUntil = until
      return true
    }
    guard isLonger, let store else { return }
    // One that cannot be written holds as long as this agent runs.
    try? await store.inBackground { store throws(Failure) in try store.setRateLimit(until, of: server) }
  }
}

extension ConnectionOptions {
  /// The server of a domain, as ``ServerPace`` tells servers apart.
  package func serverName(of domain: String) -> String {
    let host = host ?? domain
    return port.map { "\(host):\($0)" } ?? host
  }
}

extension LoginPlan {
  package var serverName: String { options.serverName(of: account.domain) }
}
