import FoundationEssentials

/// A script of `Tests/Servers`, run by Debian's Python: options in as one line of JSON, reports out as lines
/// of JSON, ended by the end of its input.
struct Script: Sendable {
  let process: ChildProcess

  /// Starts the script and gives it its options.
  init(_ name: String, options: some Encodable) async throws {
    process = try await ChildProcess("/usr/bin/python3", ["-u", Self.path(name)])
    try send(options)
  }

  static func path(_ name: String, file: String = #filePath) -> String {
    file.split(separator: "/").dropLast(2).map { "/" + $0 }.joined() + "/Servers/" + name
  }

  /// Sends one more line.
  func send(_ value: some Encodable) throws {
    process.write(String(decoding: try JSONEncoder().encode(value), as: UTF8.self) + "\n")
  }

  /// The first report that can be read as `type` and has been made so far, or will be.
  func first<Report: Decodable & Sendable>(
    _ type: Report.Type, within limit: Duration = .seconds(120)
  ) async throws -> Report {
    do {
      return try await process.output.first("\(type)", within: limit) { transcript in
        transcript.lines.lazy.compactMap { Self.decode(type, $0) }.first
      }
    } catch let error as TestSupportError {
      throw TestSupportError("\(error)\n\(process.errors.text)")
    }
  }

  /// All the reports made so far that can be read as `type`.
  func all<Report: Decodable>(_ type: Report.Type) -> [Report] {
    process.output.lines.compactMap { Self.decode(type, $0) }
  }

  private static func decode<Report: Decodable>(_ type: Report.Type, _ line: String) -> Report? {
    try? JSONDecoder().decode(type, from: Data(line.utf8))
  }
}
