import Glibc

/// The process at the other end of a Unix socket: the `struct ucred` of `SO_PEERCRED`, unix(7).
public struct PeerCredentials: Sendable, Equatable {
  public var pid: pid_t = 0
  public var uid: uid_t = 0
  public var gid: gid_t = 0

  public init() {}

  /// Returns nil if `socket` is not a connected Unix socket.
  public init?(socket: Int32) {
    self.init()
    var length = socklen_t(MemoryLayout<Self>.size)
    let size = length
    guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &self, &length) == 0, length == size else { return nil }
  }
}
