import AgentProtocol
import Glibc

/// The output of a command: data on standard output, everything else on standard error.
///
/// Every call writes whole lines with one `write(2)` (more if the kernel accepts less), so that nothing is buffered and
/// lines of several processes do not mix. If the reader went away, the process ends quietly, as with SIGPIPE. If
/// writing fails for another reason, the command fails.
enum Console {
  static func out(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }
  static func err(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

  /// Prints a line of this program on standard error; it begins with the program's name.
  static func remark(_ text: String) { err("imctl: " + text) }

  /// Prints a part of a line, for prompts and progress.
  static func errPart(_ text: String) { write(text, to: STDERR_FILENO) }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  static func write(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while let start = rest.baseAddress, !rest.isEmpty {
        let count = Glibc.write(descriptor, start, rest.count)
        if count > 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        } else if errno == EPIPE {
          endQuietly()
        } else if errno == EAGAIN {
          var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = poll(&wait, 1, -1)
        } else if errno != EINTR {
          if descriptor == STDOUT_FILENO { endWithoutOutput(systemError()) }
          return
        }
      }
    }
  }

  private static func endWithoutOutput(_ why: String) -> Never {
    CommandEnd(Failure(.outputFailed, stage: .input, detail: .text(why)), json: Imctl.wantsJSON).exit()
  }

  /// Opens /dev/null for closed standard streams, so that a file or socket that is opened later does not get their
  /// descriptors. Reading from such a stream, and writing to it, fails.
  static func holdClosedStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Ends the process like SIGPIPE, even if it inherited an ignored SIGPIPE.
  static func endQuietly() -> Never {
    signal(SIGPIPE, SIG_DFL)
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    sigprocmask(SIG_UNBLOCK, &pipe, nil)
    raise(SIGPIPE)
    _exit(128 + SIGPIPE)
  }
}
