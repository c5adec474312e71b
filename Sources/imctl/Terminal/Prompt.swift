import AgentProtocol
import Glibc

/// Reads standard input in such a way that SIGINT and the time limit of the command can end the wait.
enum StandardInput {
  /// A limit that exceeds every password and JID, in octets.
  static let longestLine = 16_384

  /// Returns the next line without its end (LF or CR LF); nil at the end of input.
  ///
  /// Reads no octet beyond the line, because the rest is for another reader.
  static func line(until deadline: Deadline) throws -> String? {
    guard var line = try bytes(endingAt: UInt8(ascii: "\n"), until: deadline) else { return nil }
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return try text(line)
  }

  /// Returns the next line, which must exist and not be empty.
  ///
  /// - Parameter empty: The detail of the failure otherwise.
  static func secret(until deadline: Deadline, orElse empty: FailureDetail) throws -> String {
    guard let line = try line(until: deadline), !line.isEmpty else { throw Failure.invalid(empty) }
    return line
  }

  /// Returns the rest of the input, which must be short.
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

  /// Whether standard input is a pipe or a file with unread content.
  static func mayHaveText() -> Bool {
    var status = stat()
    guard fstat(STDIN_FILENO, &status) == 0 else { return false }
    switch status.st_mode & S_IFMT {
    case S_IFIFO, S_IFSOCK: return true
    case S_IFREG: return status.st_size > lseek(STDIN_FILENO, 0, SEEK_CUR)
    default: return false
    }
  }

  /// Waits until standard input is readable or has ended.
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

  /// Throws if the bytes are not UTF-8.
  static func text(_ bytes: [UInt8]) throws -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure.invalid(.usage(.notUTF8))
    }
    return text
  }
}

/// Asks questions on standard error, and reads the answers from standard input.
enum Prompt {
  /// Whether both streams are a terminal, so that a person can answer.
  static var isPossible: Bool { Console.isTerminal(STDIN_FILENO) && Console.isTerminal(STDERR_FILENO) }

  /// Returns nil at the end of input.
  static func line(_ question: String, until deadline: Deadline) throws -> String? {
    Console.errPart(question)
    do {
      return try StandardInput.line(until: deadline)
    } catch {
      Console.err("")
      throw error
    }
  }

  /// Asks for a secret without echo. The echo is on again however the wait ends.
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
