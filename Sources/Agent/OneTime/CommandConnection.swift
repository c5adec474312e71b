import AgentProtocol
import Glibc
import Synchronization

/// The socket to the command that has started this process, as lines. Plain system calls: many commands need nothing
/// else than one line, as soon as possible.
package final class CommandConnection: Sendable {
  /// Octets of a line. Only this user's command is at the other end.
  private static let longestLine = 1 << 30

  private let descriptor: Int32
  private let framer = Mutex(LineFramer(limit: longestLine))
  private let closed = Mutex(false)

  /// - Parameter descriptor: of a connected stream socket.
  package init(_ descriptor: Int32) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  /// Nobody is at the other end any more.
  var isClosed: Bool { closed.withLock { $0 } }

  /// The next line, for one reader; nil at the end of the connection.
  package func next() -> String? {
    while true {
      do { if let line = try framer.withLock({ try $0.next() }) { return line } } catch { return nil }
      let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { room in
        let count = read(descriptor, room.baseAddress, room.count)
        if count > 0 { framer.withLock { $0.append(room[..<count]) } }
        return count
      }
      if count == 0 || (count < 0 && errno != EINTR) {
        closed.withLock { $0 = true }
        return nil
      }
    }
  }

  /// Writes whole lines, which do not mix with those of other threads. Blocks while the command does not read.
  package func write(_ lines: String) {
    var lines = lines
    closed.withLock { isClosed in
      lines.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty, !isClosed {
          let count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
          if count > 0 {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
          } else if errno != EINTR {
            isClosed = true
          }
        }
      }
    }
  }
}
