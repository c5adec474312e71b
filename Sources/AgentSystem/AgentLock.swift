import AgentProtocol
import Glibc
import NIOConcurrencyHelpers

/// The right to be the agent of this user: a name and a lock that both end with the process.
///
/// The lock is on a file, which can be removed while the agent runs; the name still excludes other agents then. The
/// name is limited to its network namespace; the lock is not.
package final class AgentLock: Sendable {
  /// The locked file, which is replaced when it has to be created again.
  private let file: NIOLockedValueBox<LockFile>
  private let name: HeldName
  package let paths: AgentPaths

  /// The seconds to wait for an agent that no longer listens but has not ended yet.
  package static let patience = 3

  private final class LockFile: Sendable {
    let descriptor: FileDescriptor
    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// Whether this file is the one at a path.
    func isAt(_ path: String) throws(Errno) -> Bool {
      var found = stat()
      if lstat(path, &found) != 0 { return false }
      let own = try descriptor.status()
      return found.st_ino == own.st_ino && found.st_dev == own.st_dev
    }
  }

  /// The agent's name; nil where another user has it.
  private final class HeldName: Sendable {
    let name: AgentName?
    init(_ name: consuming AgentName?) { self.name = name }
  }

  /// Throws `alreadyRunning` where another agent has the lock. Blocks up to ``patience``.
  package init(_ paths: AgentPaths) throws(Failure) {
    self.paths = paths
    try Self.makeDirectories(paths)
    name = HeldName(try Self.acquireName(paths))
    file = NIOLockedValueBox(try Self.acquireFile(paths))
  }

  private static func makeDirectories(_ paths: AgentPaths) throws(Failure) {
    try PrivateDirectory.ensure(paths.state)
    if paths.socketDirectory != paths.state { try PrivateDirectory.ensure(paths.socketDirectory) }
  }

  private static func acquireName(_ paths: AgentPaths) throws(Failure) -> AgentName? {
    for _ in 0..<(patience * 50) {
      do throws(AgentName.Taken) {
        return try AgentName(paths)
      } catch {
        switch error {
        case .byAnotherUser: return nil
        case .cannot(let error): throw error.failure(paths.socket)
        case .byAgent: break
        }
      }
      if isListening(paths.socket) { break }
      usleep(20_000)
    }
    throw Failure(.alreadyRunning, stage: .store, detail: .text(paths.socket))
  }

  private static func acquireFile(_ paths: AgentPaths) throws(Failure) -> LockFile {
    do throws(Errno) {
      let file = try FileDescriptor(opening: paths.lock, O_RDWR | O_CREAT | O_NOFOLLOW)
      for _ in 0..<(patience * 50) {
        if try file.lock() { return LockFile(file) }
        if isListening(paths.socket) { break }
        usleep(20_000)
      }
    } catch {
      throw error.failure(paths.lock)
    }
    throw Failure(.alreadyRunning, stage: .store, detail: .text(paths.socket))
  }

  /// Whether a process holds the lock of the agent in the directory of this file.
  package static func isHeld(inDirectoryOf path: String) -> Bool {
    let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    guard
      let file = try? FileDescriptor(opening: directory + "/" + AgentPaths.lockName, O_RDONLY | O_NOFOLLOW)
    else { return false }
    return (try? file.lock()) == false
  }

  /// An element for each process that did not find the agent by its socket.
  package func knocks() -> AsyncStream<Void> { name.name?.knocks() ?? AsyncStream { _ in } }

  /// Creates the directories and the lock file again if they were removed.
  ///
  /// - Throws: `alreadyRunning` where another agent holds the lock that is there now.
  package func restore() throws(Failure) {
    try Self.makeDirectories(paths)
    do throws(Errno) {
      if try file.withLockedValue({ $0 }).isAt(paths.lock) { return }
    } catch {
      throw error.failure(paths.lock)
    }
    let new = try Self.acquireFile(paths)
    file.withLockedValue { $0 = new }
  }

  /// Removes the socket of an agent that was killed. Only the holder of the lock calls this, so no live agent has it.
  package func removeStaleSocket() throws(Failure) {
    var status = stat()
    guard lstat(paths.socket, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
      throw Failure(
        .databaseError, stage: .store, detail: .about(paths.socket, FailureDetail.store(.notOurSocket)))
    }
    if unlink(paths.socket) != 0 { throw Errno.last.failure(paths.socket) }
  }

  /// Writes the process ID for other programs; the agent itself relies on the lock.
  package func writePID() throws(Failure) {
    do throws(Errno) {
      let file = try FileDescriptor(opening: paths.pid, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
      try file.write(Array("\(getpid())\n".utf8))
    } catch {
      throw error.failure(paths.pid)
    }
  }

  package func removeFiles() {
    unlink(paths.socket)
    unlink(paths.pid)
  }

  private static func isListening(_ path: String) -> Bool {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return false }
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }
}
