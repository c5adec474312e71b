import AgentProtocol
import Glibc

/// The right to be the agent of this user: a lock that ends with the process, however it ends.
final class AgentLock: Sendable {
  private let file: FileDescriptor
  let paths: AgentPaths

  /// Seconds to wait for an agent that no longer listens but has not ended yet.
  static let patience = 3

  /// Throws `alreadyRunning` where another agent has it. Blocks up to ``patience``.
  init(_ paths: AgentPaths) throws(Failure) {
    self.paths = paths
    try PrivateDirectory.ensure(paths.state)
    if paths.socketDirectory != paths.state { try PrivateDirectory.ensure(paths.socketDirectory) }
    file = try Self.acquire(paths)
  }

  private static func acquire(_ paths: AgentPaths) throws(Failure) -> FileDescriptor {
    do throws(Errno) {
      let file = try FileDescriptor(opening: paths.lock, O_RDWR | O_CREAT | O_NOFOLLOW)
      for _ in 0..<(patience * 50) {
        if try file.lock() { return file }
        if isListening(paths.socket) { break }
        usleep(20_000)
      }
    } catch {
      throw error.failure(paths.lock)
    }
    throw Failure(.alreadyRunning, stage: .store, detail: paths.socket)
  }

  /// Removes what an agent left behind that was killed. Only the holder of the lock calls this, so it is not the
  /// socket of a live agent.
  func removeStaleSocket() throws(Failure) {
    var status = stat()
    guard lstat(paths.socket, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
      throw Failure(.databaseError, stage: .store, detail: "\(paths.socket): not a socket of ours")
    }
    if unlink(paths.socket) != 0 { throw Errno.last.failure(paths.socket) }
  }

  /// For whoever looks for the process; the agent itself relies on the lock.
  func writePID() throws(Failure) {
    do throws(Errno) {
      let file = try FileDescriptor(opening: paths.pid, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
      try file.write(Array("\(getpid())\n".utf8))
    } catch {
      throw error.failure(paths.pid)
    }
  }

  func removeFiles() {
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
