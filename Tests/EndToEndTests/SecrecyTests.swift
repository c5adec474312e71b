import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite("The secrecy of passwords", .serialized)
struct SecrecyTests {
  private func files(below directory: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: directory).map { directory + "/" + $0 }
  }

  @Test(
    "A password appears in no argument, environment, log, output or file except accounts.json.",
    arguments: TestServer.Kind.allCases)
  func nowhere(kind: TestServer.Kind) async throws {
    let user = try await User(on: kind)
    let secrets = [user.password, "mistyped-\(user.name)"]
    // As SASL PLAIN would carry them too.
    let encoded = secrets.map { Data("\0\(user.name)\0\($0)".utf8).base64EncodedString() }
    var outputs: [IMCTL.Result] = []
    outputs.append(try await user.login("-vv", password: secrets[1]))
    outputs.append(try await user.login("-vv"))
    outputs.append(try await user.login("-vv", "--json", password: secrets[1]))
    #expect(outputs.map(\.status) == [77, 0, 77])
    #expect(outputs[1].errors.contains("<auth"))
    for process in try await user.imctl.processes() {
      for what in ["cmdline", "environ"] {
        // The kernel lets nobody but root read these of an agent.
        let text = String(
          decoding: try Data(contentsOf: URL(filePath: "/proc/\(process)/\(what)")), as: UTF8.self)
        #expect(secrets.allSatisfy { !text.contains($0) })
      }
    }
    for arguments in [["status"], ["account", "list", "--json"], ["agent", "log"], ["agent", "status"]] {
      outputs.append(try await user.imctl.run(arguments))
    }
    outputs.append(try await user.imctl.run("agent", "stop"))
    for output in outputs {
      #expect((secrets + encoded).allSatisfy { !(output.output + output.errors).contains($0) })
    }
    var kept: [String] = []
    for file in try files(below: user.imctl.home) {
      guard let data = try? Data(contentsOf: URL(filePath: file)) else { continue }
      let text = String(decoding: data, as: UTF8.self)
      #expect(!text.contains(secrets[1]))
      if (secrets + encoded).contains(where: text.contains) { kept.append(file) }
    }
    #expect(kept == [user.accountsPath])
    #expect(try await user.imctl.run("agent", "start").status == 0)
    #expect(try await user.imctl.run("logout", "--forget").status == 0)
    #expect(
      try files(below: user.imctl.home).allSatisfy { file in
        let data = (try? Data(contentsOf: URL(filePath: file))) ?? Data()
        return !String(decoding: data, as: UTF8.self).contains(user.password)
      })
  }

  @Test("A password is read from a prompt that does not echo it.")
  func prompt() async throws {
    let user = try await User()
    let login = try await user.imctl.start(["login", user.jid] + user.connection, terminal: true)
    try await login.output.contains(": ")
    login.write(user.password + "\n")
    try await login.output.contains("online")
    #expect(try await login.ended(within: .seconds(90)) == .exited(0))
    #expect(!login.output.text.contains(user.password))
    #expect(try await user.imctl.run("whoami").output == user.jid + "\n")
  }

  @Test("An option that would take a password or a token as its argument is refused.")
  func argument() async throws {
    let imctl = try await IMCTL()
    for option in ["--password", "--password=x", "--token=x"] {
      #expect(try await imctl.run("login", "alice@\(TestServer.domain)", option).status == 64)
    }
  }
}
