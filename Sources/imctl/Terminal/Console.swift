import AgentProtocol
import Glibc

/// The two streams of a command: data on standard output, everything else on standard error.
///
/// Every call writes whole lines with one `write(2)` (more only if the kernel takes less), so nothing is
/// buffered and lines of several processes do not mix. A reader that went away ends the process quietly, as
/// SIGPIPE does; data that cannot be written for another reason is a failure of the command.
enum Console {
  static func out(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }
  static func err(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

  /// A line of this program's own words on standard error: the program's name stands in front of it.
  static func remark(_ text: String) { err("imctl: " + text) }

  /// Part of a line: prompts and progress.
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

  /// Takes the places of standard streams that are closed: what is opened next would get them, and what is printed
  /// would go into a socket. Reading from there ends at once, and writing fails.
  static func holdClosedStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Ends as a process does whose reader went away, whether or not it inherited an ignored SIGPIPE.
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
