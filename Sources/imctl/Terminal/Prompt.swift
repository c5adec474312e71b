import AgentProtocol
import Glibc

/// Lines of standard input, read so that SIGINT and the time limit of the command can end the wait.
enum StandardInput {
  /// Longer is no password and no JID.
  static let longestLine = 16_384

  /// The next line, without its end (LF or CR LF). Nil at the end of input.
  ///
  /// Reads no byte beyond the line: what follows belongs to somebody else.
  static func line(until deadline: Deadline) throws -> String? {
    guard var line = try bytes(endingAt: UInt8(ascii: "\n"), until: deadline) else { return nil }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return try text(line)
  }

  /// The next line, which has to be there and to say something.
  ///
  /// - Parameter empty: what is wrong where it does not.
  static func secret(until deadline: Deadline, orElse empty: FailureDetail) throws -> String {
    guard let line = try line(until: deadline), !line.isEmpty else { throw Failure.invalid(empty) }
    return line
  }

  /// All that is left of the input, and that is not much.
  static func rest(until deadline: Deadline) throws -> String {
    try text(bytes(endingAt: nil, until: deadline) ?? [])
  }

  private static func bytes(endingAt end: UInt8?, until deadline: Deadline) throws -> [UInt8]? {
    Interrupt.install()
    var line: [UInt8] = []
    while true {
      try wait(until: deadline)
      var byte: UInt8 = 0
      if Glibc.read(STDIN_FILENO, &byte, 1) != 1 { return line.isEmpty ? nil : line }
      if byte == end { return line }
      line.append(byte)
      if line.count > longestLine {
        throw Failure.invalid(
          .usage(.lineTooLong, longestLine))
      }
    }
  }

  /// Whether it is a pipe, or a file that is not empty.
  static func mayHaveText() -> Bool {
    var status = stat()
    guard fstat(STDIN_FILENO, &status) == 0 else { return false }
    switch status.st_mode & S_IFMT {
    case S_IFIFO, S_IFSOCK: return true
    case S_IFREG: return status.st_size > lseek(STDIN_FILENO, 0, SEEK_CUR)
    default: return false
    }
  }

  /// Returns when there is something to read, or nothing more will come.
  static func wait(until deadline: Deadline) throws {
    while true {
      var waits = [
        pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
        pollfd(fd: Interrupt.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&waits, 2, deadline.pollTimeout)
      if ready < 0 { continue }
      if ready == 0 { throw Failure.timedOut(.usage(.standardInput)) }
      if waits[1].revents != 0 { throw Failure.cancelled() }
      return
    }
  }

  /// Throws where the bytes are no UTF-8.
  static func text(_ bytes: [UInt8]) throws -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure.invalid(.usage(.notUTF8))
    }
    return text
  }
}

/// Questions on the terminal: asked on standard error, answered on standard input.
enum Prompt {
  /// Whether somebody is there to answer.
  static var isPossible: Bool { Console.isTerminal(STDIN_FILENO) && Console.isTerminal(STDERR_FILENO) }

  /// Nil at the end of input.
  static func line(_ question: String, until deadline: Deadline) throws -> String? {
    Console.errPart(question)
    do {
      return try StandardInput.line(until: deadline)
    } catch {
      Console.err("")
      throw error
    }
  }

  /// A secret: the terminal does not show it. Echo is back on however this ends.
  static func secret(_ question: String, until deadline: Deadline) throws -> String? {
    Interrupt.install()
    Echo.off(asking: question)
    defer {
      Echo.on()
      Console.err("")
    }
    return try StandardInput.line(until: deadline)
  }
}
