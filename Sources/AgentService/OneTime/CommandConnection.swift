import AgentProtocol
import Glibc
import Synchronization

/// The socket to the command that started this process, read and written in lines. It uses plain system calls, because
/// many commands need a single line as soon as possible.
package final class CommandConnection: Sendable {
  /// The maximum length of a line in octets; large, because the other end is always this user's command.
  private static let longestLine = 1 << 30

  private let descriptor: Int32
  private let framer = Mutex(LineFramer(limit: longestLine))
  private let closed = Mutex(false)

  /// - Parameter descriptor: a connected stream socket.
  package init(_ descriptor: Int32) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  /// Whether the other end has closed the connection.
  var isClosed: Bool { closed.withLock { $0 } }

  /// The next line, for a single reader; nil at the end of the connection.
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

  /// Writes whole lines, which do not mix with lines of other threads. Blocks while the command does not read.
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
