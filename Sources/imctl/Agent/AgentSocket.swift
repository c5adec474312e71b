import AgentProtocol
import Glibc

/// A connected Unix socket that carries lines. It uses plain system calls, because a command that only asks the agent
/// should take a few milliseconds.
struct AgentSocket: ~Copyable {
  /// The result of a wait for a line.
  enum Line {
    case line(String)
    /// The agent closed the connection.
    case end
    /// A SIGINT arrived while ``Interrupt`` was installed.
    case interrupted
    case timeout
  }

  private let descriptor: Int32
  private var framer = LineFramer(limit: Self.longestLine)
  private static let longestLine = 16 << 20

  /// Takes ownership of a connected, non-blocking socket.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// The result of a write.
  enum Written {
    case all
    /// The agent closed the connection.
    case end
    case interrupted
    case timeout
  }

  /// Connects to a socket. Returns nil if nobody listens: there is no socket, or a stale one.
  ///
  /// - Throws: `connectTimeout` if the agent's queue of connections remains full until the deadline.
  static func connect(to path: String, until deadline: Deadline) throws -> AgentSocket? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
      guard path.utf8.count < room.count else { return false }
      room.copyBytes(from: path.utf8)
      return true
    }
    guard fits else { throw Failure.agentUnreachable(.text(path)) }
    let descriptor = Glibc.socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw Failure.agentUnreachable(.text(systemError())) }
    let socket = AgentSocket(descriptor)
    var pause: Int32 = 1
    while !connect(descriptor, to: &address) {
      if [ENOENT, ECONNREFUSED, ENOTDIR].contains(errno) { return nil }
      guard errno == EAGAIN || errno == EINTR else {
        throw Failure.agentUnreachable(.about(path, systemError()))
      }
      // The system does not signal free space in the queue.
      if deadline.isOver { throw Failure.noAnswer }
      try Interrupt.pause(milliseconds: pause)
      pause = min(pause * 2, 50)
    }
    // The process at the other end receives passwords, and must therefore belong to this user.
    guard PeerCredentials(socket: descriptor)?.uid == geteuid() else {
      throw Failure.agentUnreachable(.about(path, FailureDetail.agent(.socketNotOwned)))
    }
    return socket
  }

  private static func connect(_ descriptor: Int32, to address: inout sockaddr_un) -> Bool {
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }

  /// The sources that are readable when a command reads both standard input and the socket.
  struct Readiness {
    var hasInput = false
    var hasLine = false
  }

  /// Waits until standard input is readable or the agent has sent data. At the deadline, both flags are false.
  func waitForInput(until deadline: Deadline) throws -> Readiness {
    if framer.pending > 0 { return Readiness(hasLine: true) }
    while true {
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: Interrupt.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&waits, nfds_t(waits.count), deadline.pollTimeout)
      if ready < 0 && errno != EINTR { throw Failure.agentUnreachable(.text(systemError())) }
      if ready < 0 { continue }
      if waits[1].revents != 0 { throw Failure.cancelled() }
      return Readiness(hasInput: waits[2].revents != 0, hasLine: waits[0].revents != 0)
    }
  }

  func write(_ text: String, until deadline: Deadline) -> Written {
    var text = text
    return text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        if count > 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        } else if errno == EAGAIN {
          var waits = [
            pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: Interrupt.descriptor, events: Int16(POLLIN), revents: 0),
          ]
          let ready = poll(&waits, nfds_t(waits.count), deadline.pollTimeout)
          if ready == 0 { return .timeout }
          if ready > 0, waits[1].revents != 0 { return .interrupted }
        } else if errno != EINTR {
          return .end
        }
      }
      return .all
    }
  }

  /// Returns the next line without its line feed. The process ends if the reader of standard output goes away.
  mutating func line(until deadline: Deadline) throws -> Line {
    while true {
      do {
        if let line = try framer.next() { return .line(line) }
      } catch {
        throw Failure.noAgentSpeaks
      }
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: Interrupt.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
      ]
      let ready = poll(&waits, nfds_t(waits.count), deadline.pollTimeout)
      if ready < 0 && errno != EINTR { throw Failure.agentUnreachable(.text(systemError())) }
      if ready == 0 { return .timeout }
      if ready < 0 { continue }
      if waits[1].revents != 0 { return .interrupted }
      if waits[0].revents != 0 {
        if !receive() { return .end }
      } else if waits[2].revents & Int16(POLLERR) != 0 {
        Console.endQuietly()
      }
    }
  }

  /// Waits until the agent has closed the connection or the other descriptor is readable, and returns whether the
  /// latter came first. Data from the agent is discarded.
  mutating func waitForEnd(or other: Int32) -> Bool {
    while true {
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: other, events: Int16(POLLIN), revents: 0),
      ]
      if poll(&waits, nfds_t(waits.count), -1) < 0 { continue }
      if waits[1].revents != 0 { return true }
      if waits[0].revents != 0, !receive() { return false }
      framer = LineFramer(limit: Self.longestLine)
    }
  }

  /// Closes the connection for writing, and waits until the agent has closed it, too.
  func end(until deadline: Deadline) {
    shutdown(descriptor, Int32(SHUT_WR))
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { room in
      var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      while poll(&wait, 1, deadline.pollTimeout) > 0, read(descriptor, room.baseAddress, room.count) > 0 {}
    }
  }

  /// Returns false at the end of the connection.
  private mutating func receive() -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { room in
      let count = read(descriptor, room.baseAddress, room.count)
      if count > 0 { framer.append(room[..<count]) }
      return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN))
    }
  }
}

/// The system's message for `errno`.
func systemError(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }

extension Failure {
  static func agentUnreachable(_ detail: FailureDetail) -> Failure {
    Failure(.agentUnreachable, stage: .request, detail: detail)
  }

  /// The failure for a process on the socket that is not an agent.
  static var noAgentSpeaks: Failure {
    agentUnreachable(.agent(.notAgent))
  }

  static var agentEnded: Failure {
    agentUnreachable(.agent(.closed))
  }
}
