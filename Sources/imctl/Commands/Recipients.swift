import AgentProtocol
import Glibc

/// The recipients of a message in the given order, without duplicates.
struct Recipients {
  /// The maximum number of recipients of a command.
  static let maximum = 10_000
  /// The maximum size of a file with recipients in octets.
  private static let maximumFile = 1 << 20

  let jids: [String]

  /// Throws if one of several recipients is not a JID, so that nothing is sent to the others.
  ///
  /// - Parameters:
  ///   - given: The recipients of the command line.
  ///   - file: A file with one recipient on each line; empty lines are skipped. `-` is standard input.
  ///   - account: The account whose contacts may be given by name.
  ///   - asksAgent: The same as in ``RecipientNames``.
  init(_ given: [String], file: String?, account: String?, asksAgent: Bool, until deadline: Deadline) throws {
    var all = try given + (file.map { try Self.lines(of: $0, until: deadline) } ?? [])
    if all.count > Self.maximum {
      throw Failure.invalid(
        .usage(.tooManyRecipients, all.count, Self.maximum))
    }
    all = try RecipientNames.resolve(all, account: account, asksAgent: asksAgent, until: deadline)
    if all.count == 1 {
      // The agent checks the JID.
      jids = all
      return
    }
    var seen: Set<String> = []
    let keys = try Self.keys(of: all, until: deadline)
    jids = zip(all, keys).filter { seen.insert($1).inserted }.map(\.0)
  }

  /// The normalised form of each JID, for the comparison.
  private static func keys(of jids: [String], until deadline: Deadline) throws -> [String] {
    let plain = jids.map(plainKey)
    let others = zip(jids, plain).filter { $1 == nil }.map(\.0)
    if others.isEmpty { return plain.compactMap(\.self) }
    var keys = try OneTimeAgent.ask(RecipientsNormaliseMethod.self, .init(jids: others), until: deadline)[...]
    return plain.map { $0 ?? keys.popFirst() ?? "" }
  }

  /// The normalised form of a JID that consists of ASCII letters and digits, as nearly all do. It needs no agent. Nil
  /// for any other JID.
  private static func plainKey(_ jid: String) -> String? {
    func isPlain(_ text: Substring) -> Bool {
      let isOfWord = text.utf8.allSatisfy { (0x61...0x7a).contains($0 | 0x20) || (0x30...0x39).contains($0) }
      return isOfWord && (1...63).contains(text.utf8.count)
    }
    let bare = jid.prefix { $0 != "/" }
    let resource = jid.dropFirst(bare.count)
    let parts = bare.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count <= 2, let domain = parts.last,
      domain.split(separator: ".", omittingEmptySubsequences: false).allSatisfy(isPlain),
      parts.count == 1 || isPlain(parts[0]),
      resource.isEmpty || isPlain(resource.dropFirst())
    else { return nil }
    return bare.lowercased() + resource
  }

  private static func lines(of file: String, until deadline: Deadline) throws -> [String] {
    let text = file == "-" ? try InputLines.all(until: deadline) : try contents(of: file)
    return text.split(whereSeparator: \.isNewline).map(Self.trimmed).filter { !$0.isEmpty }
  }

  private static func trimmed(_ line: Substring) -> String {
    var line = line.drop(while: \.isWhitespace)
    while line.last?.isWhitespace == true { line.removeLast() }
    return String(line)
  }

  private static func contents(of path: String) throws -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure.invalid(.about(path, systemError())) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while true {
      let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { room in
        let count = read(descriptor, room.baseAddress, room.count)
        if count > 0 { bytes.append(contentsOf: room[..<count]) }
        return count
      }
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw Failure.invalid(.about(path, systemError())) }
      if bytes.count > maximumFile {
        throw Failure.invalid(.usage(.fileTooLong, path))
      }
      if count == 0 { break }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure.invalid(.usage(.fileNotUTF8, path))
    }
    return text
  }
}
