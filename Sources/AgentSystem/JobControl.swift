@preconcurrency import Dispatch
import Glibc

/// Ctrl-Z: the terminal wants this process to stop (SIGTSTP), and does not wait for what it has still to do.
package enum JobControl {
  /// The write end, for the handler. Written once, before the handler exists.
  nonisolated(unsafe) private static var writeEnd: Int32 = -1

  /// Each wish that the process stops. None where whoever started it does not want it to be stopped.
  package static func wishes() -> AsyncStream<Void> {
    let (wishes, feed) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    var inherited = sigaction()
    sigaction(SIGTSTP, nil, &inherited)
    let isIgnored =
      unsafeBitCast(inherited.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
    var ends: [Int32] = [-1, -1]
    guard !isIgnored, writeEnd < 0, pipe(&ends) == 0 else {
      feed.finish()
      return wishes
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    let readEnd = ends[0]
    writeEnd = ends[1]
    let source = DispatchSource.makeReadSource(fileDescriptor: readEnd, queue: .global())
    source.setEventHandler {
      var bytes = [UInt8](repeating: 0, count: 64)
      while read(readEnd, &bytes, bytes.count) > 0 {}
      feed.yield()
    }
    feed.onTermination = { _ in
      signal(SIGTSTP, SIG_DFL)
      source.cancel()
    }
    source.activate()
    handle()
    return wishes
  }

  /// Stops the process as it would have stopped by itself; returns when it goes on, at once where nobody could have it
  /// go on.
  package static func stop() {
    signal(SIGTSTP, SIG_DFL)
    // To this thread, which may have it blocked: one to the process may be taken by another, and this one would go on
    // before it stops.
    var stop = sigset_t()
    var mask = sigset_t()
    sigemptyset(&stop)
    sigaddset(&stop, SIGTSTP)
    pthread_sigmask(SIG_UNBLOCK, &stop, &mask)
    raise(SIGTSTP)
    pthread_sigmask(SIG_SETMASK, &mask, nil)
    handle()
  }

  private static func handle() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in JobControl.note() }
    action.sa_flags = SA_RESTART
    sigaction(SIGTSTP, &action, nil)
  }

  private static func note() {
    let saved = errno
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)
    errno = saved
  }
}
