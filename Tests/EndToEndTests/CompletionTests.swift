import FoundationEssentials
import TestSupport
import Testing

/// The completions that the shells show when a user presses the tabulator.
@Suite("Completions in the shells", .serialized, .timeLimit(.minutes(6)))
struct CompletionTests {
  enum Shell: String, CaseIterable {
    case bash, fish, zsh

    var command: [String] {
      switch self {
      case .bash: ["bash", "--norc", "--noprofile", "-i"]
      case .fish: ["fish", "--no-config", "-i"]
      case .zsh: ["zsh", "-f", "-i"]
      }
    }

    /// Loads the completions.
    var setup: String {
      switch self {
      case .bash: #"eval "$(imctl completion bash)""#
      case .fish: "imctl completion fish | source"
      case .zsh: #"autoload -U compinit; compinit -u -D; eval "$(imctl completion zsh)""#
      }
    }
  }

  /// Types the line and two tabulators into an interactive shell, and waits until its terminal shows the completion.
  private func complete(_ line: String, to completion: String, in shell: Shell, _ imctl: IMCTL) async throws {
    let folder = imctl.home + "/bin"
    if !FileManager.default.fileExists(atPath: folder) {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: folder + "/imctl", withDestinationPath: IMCTL.executable)
    }
    let child = try await imctl.start(
      onTerminal: ["/usr/bin/env"] + shell.command,
      environment: ["PATH": folder + ":/usr/bin:/bin", "TERM": "xterm"])
    // The quotation marks keep the echo of this line from being taken for its output.
    child.write(shell.setup + "; echo rea''dy\n")
    try await child.output.contains("ready")
    child.write(line + "\t\t")
    try await child.output.contains(completion)
    // Ctrl-U deletes the line.
    child.write("\u{15}exit\n")
    _ = try await child.ended(within: .seconds(60))
  }

  @Test(
    "A shell completes commands, accounts, contacts and resources, and starts no agent.",
    arguments: Shell.allCases)
  func completed(shell: Shell) async throws {
    let user = try await User(on: .prosody)
    try await user.goOnline()
    let bob = "bob@\(TestServer.domain)"
    #expect(try await user.imctl.run("contacts", "add", bob, "--name", "Robert").status == 0)
    func complete(_ line: String, to completion: String) async throws {
      try await self.complete(line, to: completion, in: shell, user.imctl)
    }
    try await complete("imctl conv", to: "ersations")
    try await complete("imctl status -a ", to: "@\(TestServer.domain)")
    try await complete("imctl send bo", to: "@\(TestServer.domain)")
    try await complete("imctl devices kick ", to: "imctl.")
    #expect(try await user.imctl.run("logout").status == 0)
    #expect(try await user.imctl.run("agent", "stop").status == 0)
    try await complete("imctl history Rob", to: "ert")
    #expect(try await user.imctl.processes().isEmpty)
    try await user.imctl.end()
  }
}
