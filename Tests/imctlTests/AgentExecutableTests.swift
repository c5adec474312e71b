import AgentProtocol
import Foundation
import TestSupport
import Testing

@Suite("The program imctl-agent", .timeLimit(.minutes(4)))
struct AgentExecutableTests {
  /// A copy of `imctl` in `bin`, with what stands for `imctl-agent` at a path beside that.
  private static func install(_ agent: String?, at path: String, in imctl: IMCTL) throws -> String {
    let prefix = imctl.home + "/prefix"
    let program = prefix + "/bin/imctl"
    let files = FileManager.default
    try files.createDirectory(atPath: prefix + "/bin", withIntermediateDirectories: true)
    try files.copyItem(atPath: IMCTL.executable, toPath: program)
    guard let agent else { return program }
    let place = URL(filePath: prefix + "/" + path)
    try files.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
    try agent.write(to: place, atomically: true, encoding: .utf8)
    try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: place.path)
    return program
  }

  private static let real = "#!/bin/sh\nexec \(IMCTL.executable)-agent \"$@\"\n"

  @Test(
    "The program imctl-agent is found beside imctl and in ../libexec/imctl.",
    arguments: ["bin/imctl-agent", "libexec/imctl/imctl-agent"])
  func places(path: String) async throws {
    try await withIMCTL { imctl in
      let program = try Self.install(Self.real, at: path, in: imctl)
      let list = try await imctl.run(program: program, ["token", "list"])
      #expect((list.output, list.errors, list.status) == ("", "", 0))
    }
  }

  @Test("A missing imctl-agent is reported with the places where imctl looked for it.")
  func missing() async throws {
    try await withIMCTL { imctl in
      let program = try Self.install(nil, at: "", in: imctl)
      for arguments in [["account", "list"], ["agent", "start"], ["agent", "run"]] {
        let result = try await imctl.run(program: program, arguments)
        #expect(result.status == 69)
        #expect(result.errors.contains("\(imctl.home)/prefix/bin/../libexec/imctl"))
      }
    }
  }

  @Test("An agent that crashes before it answers is reported as an internal error that names the signal.")
  func crash() async throws {
    try await withIMCTL { imctl in
      let program = try Self.install("#!/bin/sh\nkill -SEGV $$\n", at: "bin/imctl-agent", in: imctl)
      let result = try await imctl.run(program: program, ["account", "list"])
      #expect(result.status == 70)
      #expect(result.errors.contains("imctl-agent was ended by signal 11 before it had answered"))
    }
  }

  @Test("An agent of another version is refused with an error that names both versions.")
  func version() async throws {
    try await withIMCTL { imctl in
      let answer =
        #"{"jsonrpc":"2.0","id":1,"result":{"version":"9.9","pid":1,"#
        + #""started":"","accounts":0,"online":0,"clients":1}}"#
      let agent = """
        #!/usr/bin/python3
        import socket
        end = socket.socket(fileno=3)
        end.recv(65536)
        end.sendall(b'\(answer)\\n')
        end.recv(65536)

        """
      let program = try Self.install(agent, at: "bin/imctl-agent", in: imctl)
      for arguments in [["account", "list"], ["account", "use", "alice@im.example"]] {
        let result = try await imctl.run(program: program, arguments)
        #expect(result.status == 70)
        #expect(
          result.errors.contains("imctl is of version \(Version.current) and imctl-agent of version 9.9"))
      }
    }
  }

  @Test("The agent refuses to run for an imctl of another version.")
  func otherCommand() async throws {
    try await withIMCTL { imctl in
      let result = try await imctl.run(
        program: IMCTL.executable + "-agent", ["serve", "--client", "9.9"])
      #expect(result.status == 70)
      #expect(result.errors.contains("imctl is of version 9.9 and imctl-agent of version \(Version.current)"))
    }
  }

  @Test("The program imctl is not linked with the libraries that only the agent needs.")
  func links() async throws {
    try await withIMCTL { imctl in
      let symbols = try await imctl.run(program: "/usr/bin/ldd", [IMCTL.executable]).output
      #expect(symbols.contains("libc.so"))
      for library in ["libssl", "libcrypto", "libxml2", "libsqlite3", "libicu", "lib_FoundationICU"] {
        #expect(!symbols.contains(library))
      }
    }
  }
}
