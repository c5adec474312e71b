import Glibc

/// A real service manager of a user, `systemd --user`, whose home is that of an ``IMCTL``.
///
/// It lives in namespaces of its own, so that it needs no machine that systemd has booted, and ends with this process.
public final class UserManager: Sendable {
  /// The program inside: its commands reach the manager.
  public let imctl: IMCTL
  private let script: Script
  private let enter: [String]

  public init(_ imctl: IMCTL) async throws {
    struct Ready: Decodable { var id: Int32 }
    script = try await Script("user_manager.py", options: ["home": imctl.home])
    let id = try await script.first(Ready.self).id
    enter = ["/usr/bin/nsenter", "--target", "\(id)", "--mount", "--pid", "--"]
    self.imctl = imctl.started(by: enter)
  }

  /// Runs a command inside to its end; its standard output. Fails where the command does.
  @discardableResult
  public func run(_ words: String...) async throws -> String {
    let runtime = ["XDG_RUNTIME_DIR": "/run/user/\(getuid())"]
    let result = try await imctl.run(program: "/usr/bin/env", words, environment: runtime)
    guard result.status == 0 else { throw TestSupportError("\(words): \(result)\n\(log)") }
    return result.output
  }

  /// One property of a unit, as `systemctl show` gives it.
  public func property(_ name: String, of unit: String) async throws -> String {
    let line = try await run("systemctl", "--user", "show", "--property", name, "--value", unit)
    return line.split(separator: "\n").first.map(String.init) ?? ""
  }

  /// What it has logged, and its services.
  public var log: String { script.process.errors.text }

  /// Ends it and all its services.
  public func end() async throws { try await script.process.stop() }
}
