import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import imctl

@Suite("The systemd unit of the agent")
struct ServiceUnitTests {
  /// What systemd finds wrong with a unit.
  private func complaints(_ unit: String, in imctl: IMCTL) async throws -> String {
    let path = imctl.home + "/imctl.service"
    _ = FileManager.default.createFile(atPath: path, contents: Data(unit.utf8))
    let verify = try await ChildProcess(
      "/usr/bin/systemd-analyze", ["--user", "verify", "--man=no", path],
      environment: ["HOME": imctl.home, "XDG_RUNTIME_DIR": imctl.home])
    let ending = try await verify.ended()
    return verify.errors.text + (ending == .exited(0) ? "" : "\(ending)")
  }

  @Test("systemd accepts the unit even if its paths contain special characters.")
  func verified() async throws {
    try await withIMCTL { imctl in
      let odd = imctl.home + "/50% of $HOME ü"
      _ = FileManager.default.createFile(
        atPath: odd, contents: Data("#!/bin/sh\n".utf8), attributes: [.posixPermissions: 0o700])
      for executable in [IMCTL.executable, odd] {
        let unit = ServiceUnit(
          executable: executable,
          environment: [("PATH", "/usr/bin:/bin"), ("XDG_STATE_HOME", "/a \"b\" 50%h $HOME\\")])
        let none = try await complaints(unit.text, in: imctl)
        #expect(none == "")
      }
      let broken = ServiceUnit(executable: "/nowhere/at/all", environment: []).text
      let missing = try await complaints(broken, in: imctl)
      #expect(missing.contains("not executable"))
      let unknown = ServiceUnit(executable: odd, environment: []).text + "[Service]\nNoSuchKey=1\n"
      let odder = try await complaints(unknown, in: imctl)
      #expect(odder.contains("NoSuchKey"))
    }
  }

  @Test("The words of the unit are quoted according to the rules of systemd.")
  func quoted() {
    #expect(ServiceUnit.quoted("/usr/bin/imctl") == #""/usr/bin/imctl""#)
    #expect(ServiceUnit.quoted(#"a "b" \ 5% $c"#) == #""a \"b\" \\ 5%% $c""#)
    #expect(ServiceUnit.quoted("a\nExecStartPre=/bin/false") == #""a\nExecStartPre=/bin/false""#)
  }

  @Test("Without a systemd user manager, agent install writes the unit and prints the remaining step.")
  func withoutManager() async throws {
    try await withIMCTL { imctl in
      let environment: [String: String?] = ["XDG_RUNTIME_DIR": imctl.home]
      let path = imctl.home + "/.config/systemd/user/imctl.service"
      let install = try await imctl.run("agent", "install", environment: environment)
      #expect((install.output, install.status) == (path + "\n", 0))
      #expect(install.errors.contains("systemctl --user enable --now imctl.service"))
      let unit = String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
      #expect(unit.contains("ExecStart=\"\(IMCTL.executable)\" agent run --keep\n"))
      #expect(unit.contains("Environment=\"XDG_STATE_HOME=\(imctl.home)/.local/state\"\n"))
      let json = try await imctl.run("agent", "install", "--json", environment: environment)
      #expect((json.errors, json.status) == ("", 0))
      #expect(json.output == #"{"enabled":false,"started":false,"unit":"\#(path)"}"# + "\n")
      // Commands do without it.
      #expect(try await imctl.run("agent", "start", environment: environment).status == 0)
      let gone = try await imctl.run("agent", "uninstall", environment: environment)
      #expect((gone.output, gone.errors, gone.status) == ("", "", 0))
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(try await imctl.run("agent", "uninstall", environment: environment).status == 0)
    }
  }

  @Test("The command agent install ends with exit status 73 if it cannot write the unit.")
  func unwritable() async throws {
    try await withIMCTL { imctl in
      _ = FileManager.default.createFile(atPath: imctl.home + "/.config", contents: Data())
      let install = try await imctl.run("agent", "install", "--json")
      #expect((install.output, install.status) == ("", 73))
      #expect(install.errors.contains(#""name":"databaseError""#))
    }
  }
}
