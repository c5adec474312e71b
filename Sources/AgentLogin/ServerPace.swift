import AgentProtocol
import AgentStore
import FoundationEssentials
import NIOConcurrencyHelpers

/// The state that the accounts at one server share: how many reconnect to it, and until when none may.
///
/// A server counts failed logins by IP address, not by account, and across restarts of the agent, so the end of a rate
/// limit is stored.
package final class ServerPace: Sendable {
  private struct Server {
    var accounts: Set<String> = []
    /// The end of the rate limit in seconds since 1970.
    var closedUntil: Double?
  }

  /// A longer limit was stored by a clock that was wrong.
  private static let longest = 3600.0

  private let servers: NIOLockedValueBox<[String: Server]>
  private let store: LocalStore?

  /// - Parameter store: the store for the limits, which blocks on the disk.
  package init(store: LocalStore? = nil) {
    self.store = store
    let limits = (try? store?.rateLimits()) ?? [:]
    servers = NIOLockedValueBox(limits.mapValues { Server(closedUntil: $0) })
  }

  /// Adds an account that is to be online at a server; returns the number of accounts there.
  @discardableResult
  package func join(_ account: String, at server: String) -> Int {
    servers.withLockedValue { servers in
      servers[server, default: Server()].accounts.insert(account)
      return servers[server]?.accounts.count ?? 1
    }
  }

  /// The number of accounts that are to be online at a server, with one that may join them.
  package func accounts(at server: String, with account: String) -> Int {
    servers.withLockedValue { servers in (servers[server]?.accounts ?? []).union([account]).count }
  }

  package func leave(_ account: String, at server: String) {
    servers.withLockedValue { _ = $0[server]?.accounts.remove(account) }
  }

  /// The remaining seconds of a rate limit at a time in seconds since 1970; nil where there is none.
  package func pause(of server: String, at now: Double) -> Double? {
    servers.withLockedValue { servers in
      guard let until = servers[server]?.closedUntil, until > now, until - now <= Self.longest else {
        return nil
      }
      return until - now
    }
  }

  /// Sets a rate limit: no account of this agent connects to the server before a time in seconds since 1970.
  package func close(_ server: String, until: Double) async {
    let isLonger = servers.withLockedValue { servers in
      guard until > servers[server]?.closedUntil ?? 0 else { return false }
      servers[server, default: Server()].closedUntil = until
      return true
    }
    guard isLonger, let store else { return }
    // A limit that cannot be stored lasts as long as this agent.
    try? await store.inBackground { store throws(Failure) in try store.setRateLimit(until, of: server) }
  }
}

extension ConnectionOptions {
  /// The name by which ``ServerPace`` distinguishes servers.
  package func serverName(of domain: String) -> String {
    let host = host ?? domain
    return port.map { "\(host):\($0)" } ?? host
  }
}

extension LoginPlan {
  package var serverName: String { options.serverName(of: account.domain) }
}
