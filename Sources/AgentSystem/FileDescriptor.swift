import AgentProtocol
import Glibc

/// An open file that is closed at the end of the value's life. Child processes do not inherit it.
package struct FileDescriptor: ~Copyable {
  package let number: Int32

  /// With `O_CREAT` the file gets mode 0600, whatever the umask and its earlier mode.
  package init(opening path: String, _ flags: Int32) throws(Errno) {
    var result: Int32
    repeat { result = open(path, flags | O_CLOEXEC, 0o600) } while result < 0 && errno == EINTR
    if result < 0 { throw Errno.last }
    if flags & O_CREAT != 0, fchmod(result, 0o600) != 0 {
      let error = Errno.last
      close(result)
      throw error
    }
    number = result
  }

  deinit { close(number) }

  package func status() throws(Errno) -> stat {
    var status = stat()
    if fstat(number, &status) != 0 { throw Errno.last }
    return status
  }

  /// Reads to the end; nil where there is more than `limit`.
  package func read(limit: Int) throws(Errno) -> [UInt8]? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(number, &chunk, chunk.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw Errno.last
      }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
      if bytes.count > limit { return nil }
    }
  }

  package func write(_ bytes: [UInt8]) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
      if count < 0 {
        if errno == EINTR { continue }
        throw Errno.last
      }
      rest = rest.dropFirst(count)
    }
  }

  package func synchronise() throws(Errno) {
    if fsync(number) != 0 { throw Errno.last }
  }

  /// Locks the file (flock(2)); returns false if another process has locked it.
  package func lock() throws(Errno) -> Bool {
    while flock(number, LOCK_EX | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { throw Errno.last }
    }
    return true
  }
}

/// The error of a system call.
package struct Errno: Error, Equatable, CustomStringConvertible {
  package let code: Int32
  package init(_ code: Int32) { self.code = code }
  package static var last: Errno { Errno(errno) }
  package var description: String { String(cString: strerror(code)) }

  /// The error as a failure of the local store at `path`.
  package func failure(_ path: String) -> Failure {
    Failure(.databaseError, stage: .store, detail: .about(path, description))
  }
}
