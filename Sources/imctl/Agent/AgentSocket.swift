import AgentProtocol
import Glibc

/// A connected Unix socket that carries lines. Plain system calls: a command that only asks the agent lives for
/// a few milliseconds.
struct AgentSocket: ~Copyable {
  /// What a wait for a line ended with.
  enum Line {
    case line(String)
    /// The agent closed the connection.
    case end
    /// SIGINT, where ``Interrupt`` is installed.
    case interrupted
    case timeout
  }

  private let descriptor: Int32
  private var framer = LineFramer(limit: Self.longestLine)
  private static let longestLine = 16 << 20

  /// Takes a connected socket over that does not block.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// What writing has come to.
  enum Written {
    case all
    /// The agent closed the connection.
    case end
    case interrupted
    case timeout
  }

  /// Nil when nobody listens there: no socket, or one that is left over.
  ///
  /// - Throws: `connectTimeout` where more wait to be let in than the agent's queue holds, until the deadline.
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
      // Nothing tells when there is room in the queue.
      if deadline.isOver { throw Failure.noAnswer }
      try Interrupt.pause(milliseconds: pause)
      pause = min(pause * 2, 50)
    }
    // Who answers gets to see passwords: nobody but this user may.
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

  /// What there is to do for whoever reads standard input beside the socket.
  struct Readiness {
    var hasInput = false
    var hasLine = false
  }

  /// Waits until standard input can be read, or the agent has said something. Neither at the deadline.
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

  /// The next line, without its line feed. A reader of standard output that goes away ends the process.
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

  /// Waits until the agent has closed the connection, or the other descriptor can be read; whether that came first. What
  /// the agent says is left out.
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

  /// Says nothing more, and waits until the agent has closed the connection, too.
  func end(until deadline: Deadline) {
    shutdown(descriptor, Int32(SHUT_WR))
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { room in
      var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      while poll(&wait, 1, deadline.pollTimeout) > 0, read(descriptor, room.baseAddress, room.count) > 0 {}
    }
  }

  /// False at the end of the connection.
  private mutating func receive() -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) { room in
      let count = read(descriptor, room.baseAddress, room.count)
      if count > 0 { framer.append(room[..<count]) }
      return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN))
    }
  }
}

/// What the system says about `errno`.
func systemError(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }

extension Failure {
  static func agentUnreachable(_ detail: FailureDetail) -> Failure {
    Failure(.agentUnreachable, stage: .request, detail: detail)
  }

  /// Something listens on the socket that is no agent.
  static var noAgentSpeaks: Failure {
    agentUnreachable(.agent(.notAgent))
  }

  static var agentEnded: Failure {
    agentUnreachable(.agent(.closed))
  }
}
