import AgentProtocol
import Glibc
import NIOCore
import NIOPosix

/// The name of a running agent that nobody can remove: a socket of the abstract namespace (unix(7)), which ends with the
/// process. Whoever connects to it tells an agent that it cannot be found by its own socket.
struct AgentName: ~Copyable {
  private let descriptor: Int32

  /// Who has the name.
  enum Taken: Error {
    case byAgent, byAnotherUser
    case cannot(Errno)
  }

  init(_ paths: AgentPaths) throws(Taken) {
    let made = Self.socket()
    guard made >= 0 else { throw .cannot(.last) }
    if Self.withAddress(paths, { bind(made, $0, $1) }) == 0, listen(made, 8) == 0 {
      descriptor = made
      return
    }
    let error = Errno.last
    close(made)
    guard error.code == EADDRINUSE else { throw .cannot(error) }
    throw Self.knock(paths) ? .byAgent : .byAnotherUser
  }

  deinit { close(descriptor) }

  /// An element for everybody who did not find the agent, several at once as one.
  func knocks() -> AsyncStream<Void> {
    let (knocks, knock) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    // The name is held until the last copy is closed.
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { return knocks }
    let channel = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        knock.yield()
        channel.eventLoop.execute { channel.close(promise: nil) }
        return channel.eventLoop.makeSucceededVoidFuture()
      }
      .withBoundSocket(copy)
    channel.whenFailure { _ in knock.finish() }
    knock.onTermination = { _ in channel.whenSuccess { $0.close(promise: nil) } }
    return knocks
  }

  /// Tells the agent that somebody does not find it. False where another user has the name.
  private static func knock(_ paths: AgentPaths) -> Bool {
    let socket = socket()
    guard socket >= 0 else { return true }
    defer { close(socket) }
    // One that has no room for another knock has been told.
    guard withAddress(paths, { connect(socket, $0, $1) }) == 0 else { return true }
    return PeerCredentials(socket: socket)?.uid == geteuid()
  }

  private static func socket() -> Int32 {
    Glibc.socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
  }

  private static func withAddress(
    _ paths: AgentPaths, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = [0] + Array(paths.abstractName.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let length = (MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + name.count
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
  }
}
