import AgentProtocol
import Glibc

/// Makes SIGINT available to `poll(2)` through a pipe.
///
/// After ``install()``, SIGINT makes ``descriptor`` readable instead of ending the process. A wait can then end
/// cleanly: the progress line is removed, the echo is on, and the connection to the agent is closed.
enum Interrupt {
  /// The write end for the handler. Written once, before the handler is installed.
  nonisolated(unsafe) private static var writeEnd: Int32 = -1
  nonisolated(unsafe) private static var readEnd: Int32 = -1

  /// -1 before ``install()``, which `poll` ignores.
  static var descriptor: Int32 { readEnd }

  static func install() {
    guard readEnd < 0 else { return }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (readEnd, writeEnd) = (ends[0], ends[1])
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in Interrupt.note() }
    sigaction(SIGINT, &action, nil)
  }

  /// Discards the interrupts that have arrived so far.
  static func forget() {
    var byte: UInt8 = 0
    while readEnd >= 0, read(readEnd, &byte, 1) == 1 {}
  }

  /// Returns after the time has passed; throws at once on SIGINT.
  static func pause(milliseconds: Int32) throws {
    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    if poll(&wait, 1, milliseconds) > 0 { throw Failure.cancelled() }
  }

  private static func note() {
    let saved = errno
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)
    errno = saved
  }
}
