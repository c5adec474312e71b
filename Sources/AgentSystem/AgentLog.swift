import AgentProtocol
import Glibc
import Logging
import NIOConcurrencyHelpers

/// The agent's log: a file of mode 0600 and bounded size.
///
/// A full log is renamed to `agent.log.1`, replacing the one before. If the log cannot be written, lines are lost but
/// the agent continues.
package final class AgentLog: Sendable {
  /// The maximum size of one file in octets.
  package static let maximumSize = 1 << 20
  /// The maximum length of a line in characters.
  package static let maximumLine = 4000

  private final class OpenFile: Sendable {
    let descriptor: FileDescriptor
    let identity: FileIdentity?
    init(_ descriptor: consuming FileDescriptor, at path: String) {
      self.descriptor = descriptor
      identity = FileIdentity(path)
    }
  }

  private struct State {
    var file: OpenFile?
    var size = 0
  }

  package let path: String
  private let limit: Int
  private let state: NIOLockedValueBox<State>

  /// The log of the agent with these paths; its directory must exist.
  package convenience init(_ paths: AgentPaths) { self.init(path: paths.log, limit: Self.maximumSize) }

  package init(path: String, limit: Int) {
    self.path = path
    self.limit = limit
    state = NIOLockedValueBox(State())
  }

  /// A logger that writes to this log.
  package func logger(_ label: String, level: Logger.Level = .info) -> Logger {
    Logger(label: label) { AgentLogHandler(label: $0, log: self, logLevel: level) }
  }

  /// Appends a line. Its control and format characters, which may come from a peer, are escaped as `\u{…}`.
  package func append(_ line: String) {
    let bytes = Array((Self.neutralised(line) + "\n").utf8)
    state.withLockedValue { state in
      // The file may have been removed.
      if state.file == nil || state.file?.identity != FileIdentity(path) { open(&state) }
      if state.size > 0, state.size + bytes.count > limit {
        state.file = nil
        rename(path, path + ".1")
        open(&state)
      }
      guard (try? state.file?.descriptor.write(bytes)) != nil else { return }
      state.size += bytes.count
    }
  }

  private func open(_ state: inout State) {
    do throws(Errno) {
      let file = try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW)
      state.size = Int(try file.status().st_size)
      state.file = OpenFile(file, at: path)
    } catch {
      state.size = 0
    }
  }

  private static func neutralised(_ line: String) -> String {
    var result = ""
    for scalar in line.unicodeScalars.prefix(maximumLine) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

/// Writes `TIME LEVEL LABEL: MESSAGE KEY=VALUE …`.
private struct AgentLogHandler: LogHandler {
  let label: String
  let log: AgentLog
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]

  init(label: String, log: AgentLog, logLevel: Logger.Level) {
    self.label = label
    self.log = log
    self.logLevel = logLevel
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let facts = metadata.merging(event.metadata ?? [:]) { _, new in new }
      .sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    log.append("\(Timestamp.now()) \(event.level) \(label): \(event.message)\(facts)")
  }
}
