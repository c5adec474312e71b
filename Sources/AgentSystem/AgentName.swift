import AgentProtocol
import Glibc
import NIOCore
import NIOPosix

/// The name of a running agent, which cannot be removed: a socket in the abstract namespace (unix(7)) that ends with
/// the process. Connecting to it tells the agent that its own socket was not found.
struct AgentName: ~Copyable {
  private let descriptor: Int32

  /// The name is in use.
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

  /// An element for each process that did not find the agent; several at once count as one.
  func knocks() -> AsyncStream<Void> {
    let (knocks, knock) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    // The name lasts until the last copy of the descriptor is closed.
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

  /// Tells the agent that its socket was not found. Returns false if another user has the name.
  private static func knock(_ paths: AgentPaths) -> Bool {
    let socket = socket()
    guard socket >= 0 else { return true }
    defer { close(socket) }
    // An agent whose queue is full was told already.
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
