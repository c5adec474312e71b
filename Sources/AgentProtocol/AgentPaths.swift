import Glibc

/// The paths of the agent's files and of its socket.
public struct AgentPaths: Sendable, Equatable {
  /// `$XDG_CONFIG_HOME/imctl`, else `~/.config/imctl`.
  public let configuration: String
  /// `$XDG_STATE_HOME/imctl`, else `~/.local/state/imctl`.
  public let state: String
  /// The agent's Unix socket: in ``state``, or in ``shortDirectory`` if its path in ``state`` would be too long.
  public let socket: String
  private let uid: uid_t

  package static let lockName = "agent.lock"
  package static let upgradeSuffix = ".upgrade"

  /// The maximum length of a socket's path in octets (`sun_path` without its NUL).
  public static let maximumSocketPath = 107

  public var accounts: String { configuration + "/accounts.json" }
  public var database: String { state + "/imctl.sqlite" }
  public var lock: String { state + "/" + Self.lockName }
  /// The file with the progress of the ``database`` upgrade, in percent. The upgrading process holds a lock on it.
  public var upgrade: String { database + Self.upgradeSuffix }
  public var pid: String { state + "/agent.pid" }
  public var log: String { state + "/agent.log" }
  /// The directory of sockets whose path in ``state`` would be too long.
  public var shortDirectory: String { "/tmp/imctl-\(uid)" }
  /// The directory that contains ``socket``.
  public var socketDirectory: String { String(socket[..<(socket.lastIndex(of: "/") ?? socket.endIndex)]) }

  /// The agent's name in the abstract socket namespace, whose sockets have no file.
  public var abstractName: String { "imctl-agent/\(uid)/\(Self.hash(state))" }

  /// FNV-1a, whose value for a directory is the same in every process.
  private static func hash(_ path: String) -> String {
    String(
      path.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
  }

  /// The paths of this process's user and environment.
  public static func current() throws(Failure) -> AgentPaths {
    func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
    guard let paths = AgentPaths(environment: variable, uid: geteuid()) else {
      throw Failure(.databaseError, stage: .store, detail: .store(.noHome))
    }
    return paths
  }

  /// Returns nil if neither the environment nor the user database names a home directory.
  ///
  /// Relative paths in `XDG_…` are ignored (XDG Base Directory Specification).
  public init?(environment: (String) -> String?, uid: uid_t) {
    func absolute(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
    func directory(_ name: String, _ underHome: String) -> String? {
      if let directory = absolute(name) { return directory + "/imctl" }
      let home = absolute("HOME") ?? getpwuid(uid).flatMap { $0.pointee.pw_dir.map { String(cString: $0) } }
      return home.map { "\($0)/\(underHome)/imctl" }
    }
    guard let configuration = directory("XDG_CONFIG_HOME", ".config"),
      let state = directory("XDG_STATE_HOME", ".local/state")
    else { return nil }
    self.init(configuration: configuration, state: state, uid: uid)
  }

  public init(configuration: String, state: String, uid: uid_t = geteuid()) {
    self.configuration = configuration
    self.state = state
    self.uid = uid
    let path = state + "/agent.sock"
    if path.utf8.count <= Self.maximumSocketPath {
      socket = path
    } else {
      socket = "/tmp/imctl-\(uid)/\(Self.hash(state)).sock"
    }
  }
}
