import ArgumentParser
import Terminal

/// `imctl completion`: the completion script of a shell.
struct CompletionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "completion",
    abstract: "Print the completion script of a shell.",
    discussion: """
      The script completes commands, options and their values, accounts, contacts, resources of devices and IDs of \
      queued messages. Completing starts no agent.

      In ~/.bashrc: eval "$(imctl completion bash)"

      In ~/.zshrc, after compinit: eval "$(imctl completion zsh)"

      For fish, once: imctl completion fish > ~/.config/fish/completions/imctl.fish
      """)

  enum Shell: String, ExpressibleByArgument, CaseIterable {
    case bash, zsh, fish

    var parserShell: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }
  }

  @Argument(help: ArgumentHelp("bash, zsh or fish.", valueName: "SHELL"))
  var shell: Shell

  func run() { Console.out(Imctl.completionScript(for: shell.parserShell)) }
}
