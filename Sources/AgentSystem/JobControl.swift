@preconcurrency import Dispatch
import Glibc

/// Handles Ctrl-Z: the terminal stops this process with SIGTSTP; the handler lets it finish its work first.
package enum JobControl {
  /// The write end of the pipe for the signal handler. Written once, before the handler is installed.
  nonisolated(unsafe) private static var writeEnd: Int32 = -1

  /// An element for each request to stop. Empty where the parent process has SIGTSTP ignored.
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

  /// Stops the process with the signal's default action; returns when it continues, at once where no shell could
  /// continue it.
  package static func stop() {
    signal(SIGTSTP, SIG_DFL)
    // The signal goes to this thread, which may have blocked it: another thread might take a signal to the process, and
    // this one would continue before the stop.
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
